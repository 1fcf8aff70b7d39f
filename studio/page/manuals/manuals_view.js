// The tables of manuals: what each says is to be reviewed before it rewards anything.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { count } from "../format.js";
import { html } from "../html.js";
import { link } from "../router.js";

export function ManualsView() {
  const [tables, setTables] = useState(/** @type {any[] | null} */ (null));
  const [problem, setProblem] = useState("");
  useEffect(() => {
    request("manuals").then((found) => setTables(found.tables), (error) => setProblem(error.message));
  }, []);
  return html`
    <div class="heading"><h1>Manuals</h1><p class="muted">What the manual of a game means for each object of its screen. Rewards use nothing else.</p></div>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${!problem && !tables && html`<p class="loading" role="status">Loading…</p>`}
    ${tables && html`<div class="table-frame cards"><table>
      <thead><tr><th scope="col">Table</th><th scope="col">Objects</th><th scope="col">Without a verdict</th><th scope="col">Overrides</th></tr></thead>
      <tbody>${tables.map((each) => html`<${Row} key=${each.name} ...${each} />`)}</tbody>
    </table></div>`}
  `;
}

function Row({ name, objects, abstain, overrides, problem }) {
  if (problem) return html`<tr><th scope="row">${name}</th><td colspan="3"><span class="problem">${problem}</span></td></tr>`;
  return html`<tr>
    <th scope="row"><a href=${link("manual", { name })}>${name}</a></th>
    <td data-label="Objects">${objects}</td>
    <td data-label="Without a verdict">${abstain || "–"}</td>
    <td data-label="Overrides">${overrides ? count(overrides, "override") : "–"}</td>
  </tr>`;
}
