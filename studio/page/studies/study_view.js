// What the permalink of a study opens: what it is about, and what can be played.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { count } from "../format.js";
import { html } from "../html.js";
import { CopyButton } from "../parts/copy_button.js";
import { Markdown } from "../parts/markdown.js";
import { link } from "../router.js";
import { BeingPlayed } from "./being_played.js";
import { permalink } from "./permalink.js";
import { turnOf } from "./turns.js";

/** @param {{params: URLSearchParams}} props */
export function StudyView({ params }) {
  const id = params.get("id") ?? "";
  const [study, setStudy] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const controller = new AbortController();
    setStudy(null);
    setProblem("");
    request(`studies/${encodeURIComponent(id)}`, { signal: controller.signal }).then(
      (found) => {
        setStudy(found.study);
        document.title = `${found.study.name} · rlds-kit`;
      },
      (error) => error.name !== "AbortError" && setProblem(error.message),
    );
    return () => controller.abort();
  }, [id]);
  if (problem) {
    return html`<div class="card empty" role="alert">
      <h2>This study cannot be opened</h2><p>${problem}</p>
      <div class="actions"><a class="button" href=${link("studies")}>All studies</a></div>
    </div>`;
  }
  if (!study) return html`<p class="loading" role="status">Loading…</p>`;
  return html`
    <div class="heading">
      <a class="crumb" href=${link("studies")}>← Studies</a>
      <h1>${study.name}</h1>
      ${study.can_edit && !study.enabled && html`<span class="chip warning">closed to others</span>`}
      <div class="actions">
        <a class="button" href=${link("episodes", { study: id })}>Episodes</a>
        ${study.can_edit && html`<${CopyButton} text=${permalink(id)} />
          <a class="button" href=${link("edit", { id })}>Edit</a>`}
      </div>
      ${study.description && html`<p class="lead muted">${study.description}</p>`}
    </div>
    <div class=${study.instructions ? "study-page" : ""}>
      ${study.instructions && html`<section class="card"><h2>Instructions</h2><${Markdown} text=${study.instructions} /></section>`}
      <section aria-label="Environments">
        <ul class="environments">
          ${study.environments.map((each) => html`<${Environment} study=${study} environment=${each} />`)}
        </ul>
        ${study.can_look_on && html`<${BeingPlayed} study=${study} />`}
      </section>
    </div>
  `;
}

function Environment({ study, environment }) {
  const { id, name, instructions, turn, fps, max_steps: most } = environment;
  const pace = turnOf(turn);
  const people = environment.seats.filter((each) => each.is_human).length;
  const where = people > 1 ? "lobby" : "play";
  return html`<li class="card environment">
    <div>
      <h2>${name}</h2>
      <p class="row small muted">
        ${name !== environment.environment && html`<span class="mono">${environment.environment}</span>`}
        <span class="chip">${pace.title}</span>
        ${environment.seats.length > 1 && html`<span class="chip accent">${togetherText(people, environment.seats.length - people)}</span>`}
        ${pace.hasRate && html`<span>${fps} steps a second</span>`}
        ${most && html`<span>at most ${most.toLocaleString("en")} steps</span>`}
      </p>
      ${instructions && html`<${Markdown} text=${instructions} />`}
    </div>
    ${study.can_play &&
    html`<a class="button primary large" href=${link(where, { study: study.id, environment: id })} aria-label=${`Play ${name}`}>Play</a>`}
  </li>`;
}

function togetherText(people, programs) {
  const parts = [people > 0 && count(people, "person", "people"), programs > 0 && count(programs, "program")];
  return parts.filter(Boolean).join(" and ");
}
