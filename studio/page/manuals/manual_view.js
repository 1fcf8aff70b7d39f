// One table of a manual: context, answers, probability and verdict of each object, and a person's own verdict.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { html } from "../html.js";
import { toastError } from "../parts/toasts.js";
import { Interaction } from "./interaction.js";

/** @param {{params: URLSearchParams}} props `name` of the table */
export function ManualView({ params }) {
  const name = params.get("name") ?? "";
  const path = `manuals/${encodeURIComponent(name)}`;
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const load = () => request(path).then(setFound, (error) => setProblem(error.message));
  useEffect(() => {
    setFound(null);
    setProblem("");
    load();
  }, [path]);
  const decide = async (object, verdict) => {
    try {
      setFound(await request(`${path}/overrides`, { method: "PUT", body: { object, verdict, fingerprint: found.fingerprint } }));
    } catch (error) {
      toastError(error);
      await load(); // another person may have decided
    }
  };
  if (problem) return html`<p class="problem" role="alert">${problem}</p><a href="#manuals">All manuals</a>`;
  if (!found) return html`<p class="loading" role="status">Loading…</p>`;
  const { table } = found;
  return html`
    <div class="heading"><h1>${table.game}</h1><a href="#manuals">All manuals</a></div>
    <dl class="card manual-facts">
      <${Fact} name="Manual" value=${`${table.source}, licence ${table.licence || "not known"}`} />
      <${Fact} name="SHA-256" value=${table.manual_sha256} />
      <${Fact} name="Answers by" value=${table.answerer} />
      <${Fact} name="Verdicts by" value=${table.reasoner} />
    </dl>
    <div class="manual-rows">
      ${table.interactions.map((each) => html`<${Interaction} key=${each.object} row=${each}
        decide=${found.can_override ? (verdict) => decide(each.object, verdict) : null} />`)}
    </div>
  `;
}

function Fact({ name, value }) {
  return html`<div><dt class="muted small">${name}</dt><dd class="mono">${value}</dd></div>`;
}
