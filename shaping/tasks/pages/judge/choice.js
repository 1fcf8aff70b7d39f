// The queues; designers make new ones and see how far people agree.
import { useCallback, useEffect, useState } from "preact/hooks";
import { request } from "../../api.js";
import { html } from "../../html.js";
import { toastError } from "../../parts/toasts.js";
import { link } from "../../router.js";
import { NewQueue } from "./new_queue.js";

export function Choice() {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const load = useCallback(() => request("tasks/judge").then(setFound, toastError), []);
  useEffect(() => {
    load();
  }, [load]);
  return html`
    <div class="heading"><h1>Judge</h1><p class="muted">Say what you think of what was recorded.</p></div>
    ${!found && html`<p class="loading" role="status">Loading…</p>`}
    ${found?.queues.length === 0 && html`<div class="card empty"><h2>There is nothing to judge yet</h2></div>`}
    ${found && html`<ul class="queues">${found.queues.map((each) => html`<${Card} key=${each.id} queue=${each} isDesigner=${found.is_designer} />`)}</ul>`}
    ${found?.is_designer && found.datasets.length > 0 && html`<${NewQueue} datasets=${found.datasets} made=${load} />`}
  `;
}

function Card({ queue, isDesigner }) {
  const { id, name, kind, question, queries, answered } = queue;
  const isDone = answered === queries;
  return html`<li class="card">
    <div class="row"><h2>${name}</h2><span class="chip push">${kind}</span></div>
    <p>${question}</p>
    <p class="muted numbers">${answered} of ${queries} answered by you</p>
    <div class="actions"><a class=${`button ${isDone ? "" : "primary"}`} href=${link("task-judge", { queue: id })}>${isDone ? "Done" : answered ? "Go on" : "Begin"}</a></div>
    ${isDesigner && html`<${Agreement} id=${id} />`}
  </li>`;
}

function Agreement({ id }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const show = () => request(`tasks/judge/queues/${id}/agreement`).then(setFound, toastError);
  if (!found) return html`<button class="text" onClick=${show}>How far do people agree?</button>`;
  return html`<dl class="agreement numbers">
    <div><dt>Answers</dt><dd>${found.answers}</dd></div>
    <div><dt>People</dt><dd>${found.annotators}</dd></div>
    ${found.units !== undefined && html`
      <div><dt>Answered by several</dt><dd>${found.units}</dd></div>
      <div><dt>Equal pairs</dt><dd>${found.equal === null ? "–" : `${Math.round(100 * found.equal)} %`}</dd></div>
      <div><dt title="Krippendorff's alpha: 1 is full agreement, 0 that of chance">Alpha</dt><dd>${found.alpha === null ? "undefined" : found.alpha.toFixed(2)}</dd></div>`}
    ${found.problem && html`<p class="hint">${found.problem}</p>`}
  </dl>`;
}
