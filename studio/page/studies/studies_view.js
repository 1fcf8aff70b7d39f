// The list of studies.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { count, date } from "../format.js";
import { html } from "../html.js";
import { CopyButton } from "../parts/copy_button.js";
import { link } from "../router.js";
import { EnableSwitch } from "./enable_switch.js";
import { permalink } from "./permalink.js";

/** @param {{me: any}} props */
export function StudiesView({ me }) {
  const [studies, setStudies] = useState(/** @type {any[] | null} */ (null));
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const controller = new AbortController();
    request("studies", { signal: controller.signal }).then(
      (found) => setStudies(found.studies),
      (error) => error.name !== "AbortError" && setProblem(error.message),
    );
    return () => controller.abort();
  }, []);
  const changed = (study) => setStudies(studies.map((each) => (each.id === study.id ? study : each)));
  const isDesigner = me.role === "designer";
  return html`
    <div class="heading">
      <h1>Studies</h1>
      ${isDesigner && html`<div class="actions"><a class="button primary" href=${link("edit")}>New study</a></div>`}
    </div>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${!problem && !studies && html`<p class="loading" role="status">Loading…</p>`}
    ${studies?.length === 0 && html`<${NoStudies} isDesigner=${isDesigner} />`}
    ${studies && html`<ul class="studies">
      ${studies.map((study) => html`<${Card} key=${study.id} study=${study} changed=${changed} />`)}
    </ul>`}
  `;
}

function NoStudies({ isDesigner }) {
  return html`<div class="card empty">
    <h2>${isDesigner ? "Make your first study" : "No study is open now"}</h2>
    ${isDesigner
      ? html`<p>A study asks people to play one or more environments. Everything they do is recorded.</p>
          <div class="actions"><a class="button primary" href=${link("edit")}>New study</a></div>`
      : html`<p>Ask who invited you for the link to a study.</p>`}
  </div>`;
}

function Card({ study, changed }) {
  const { id, name, description, environments } = study;
  return html`
    <li class="card study">
      <div class="about">
        <h2><a href=${link("study", { id })}>${name}</a></h2>
        ${description && html`<p class="muted">${description}</p>`}
        <p class="facts small muted">
          ${environments.slice(0, 3).map((each) => html`<span class="chip cut" title=${each.name}>${each.name}</span>`)}
          ${environments.length > 3 && html`<span>and ${count(environments.length - 3, "other")}</span>`}
          <span>Version ${study.version}, ${date(new Date(study.changed_ns / 1e6).toISOString())}</span>
        </p>
      </div>
      <div class="row">
        ${study.can_edit && html`<${EnableSwitch} study=${study} changed=${changed} />`}
        <span class="actions push">
          ${study.can_edit && html`<${CopyButton} text=${permalink(id)} />`}
          ${study.can_edit && html`<a class="button" href=${link("edit", { id })} aria-label=${`Edit “${name}”`}>Edit</a>`}
          ${study.can_play && html`<a class="button primary" href=${link("study", { id })} aria-label=${`Play “${name}”`}>Play</a>`}
        </span>
      </div>
    </li>
  `;
}
