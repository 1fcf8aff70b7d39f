// What can be trained, and how well it went.
import { useCallback, useEffect, useState } from "preact/hooks";
import { request } from "../../api.js";
import { html } from "../../html.js";
import { toastError } from "../../parts/toasts.js";
import { link } from "../../router.js";

/** @param {{group: string}} props */
export function Choice({ group }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  useEffect(() => {
    request("tasks/train").then(setFound, toastError);
  }, []);
  return html`
    <div class="heading"><h1>Train an agent</h1>
      <p class="muted">Watch an agent and tell it what you like. It learns while it plays.</p></div>
    ${!found && html`<p class="loading" role="status">Loading…</p>`}
    ${found && html`
      <ul class="trainings">${found.trainings.map((each) => html`<${Card} key=${each.name} training=${each} group=${group} />`)}</ul>
      <${Results} trainings=${found.trainings} isDesigner=${found.is_designer} />`}
  `;
}

function Card({ training, group }) {
  const { name, title, stages, mine } = training;
  const goesOn = mine && !mine.is_over;
  const to = (isNew) => link("task-train", { training: name, group, new: isNew ? 1 : "" });
  return html`<li class="card">
    <h2>${title}</h2>
    <p class="muted">${stages.length === 1 ? "As long as you like" : stages.join(", ")}</p>
    <div class="actions">
      ${goesOn && html`<a class="button primary" href=${to(false)}>Go on with ${mine.stage}</a>`}
      <a class=${`button ${goesOn ? "" : "primary"}`} href=${to(Boolean(mine))}>${mine ? "New training" : "Begin"}</a>
    </div>
  </li>`;
}

function Results({ trainings, isDesigner }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const load = useCallback(() => request("tasks/train/results").then(setFound, toastError), []);
  useEffect(() => {
    load();
  }, [load]);
  if (!found) return null;
  const show = async (event) => {
    try {
      await request("tasks/train/results", { method: "PUT", body: { are_shown: event.target.checked } });
    } catch (error) {
      toastError(error);
    }
    await load();
  };
  const of = Object.fromEntries(trainings.map((each) => [each.name, each]));
  const hasGroups = found.results.some((each) => each.group);
  return html`<section class="card results">
    <div class="row"><h2>Results</h2>
      ${isDesigner && html`<label class="inline push"><input type="checkbox" class="switch" role="switch" checked=${found.are_shown}
        onChange=${show} /> All participants see all results</label>`}</div>
    ${found.results.length === 0
      ? html`<p class="muted">No run that counts has a whole game yet.</p>`
      : html`<table><thead><tr><th>Run</th><th>Trainer</th>${hasGroups && html`<th>Group</th>`}<th class="number">Games</th><th class="number">Score</th></tr></thead>
        <tbody>${found.results.map((each) => html`<tr class=${each.is_mine ? "selected" : ""}>
          <td>${of[each.training]?.title}, ${each.stage}</td><td>${each.is_mine ? "you" : html`<span class="mono">${each.trainer}</span>`}</td>
          ${hasGroups && html`<td>${each.group}</td>`}<td class="number">${each.games}</td>
          <td class="number">${each.score} ${of[each.training]?.unit}</td></tr>`)}</tbody></table>`}
    ${!found.are_shown && !isDesigner && html`<p class="hint">Results of others are shown when the study is over.</p>`}
  </section>`;
}
