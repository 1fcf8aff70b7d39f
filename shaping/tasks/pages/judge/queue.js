// The query that is next, and the answer to it.
import { useCallback, useEffect, useState } from "preact/hooks";
import { request } from "../../api.js";
import { html } from "../../html.js";
import { toastError } from "../../parts/toasts.js";
import { link } from "../../router.js";
import { FORMS } from "./forms.js";
import { Segment } from "./segment.js";

/** @param {{id: string}} props */
export function Queue({ id }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [isSaving, setSaving] = useState(false);
  const [place, setPlace] = useState(/** @type {any} */ (null));
  useEffect(() => {
    request(`tasks/judge/queues/${id}/next`).then(setFound, toastError);
  }, [id]);
  const answer = useCallback(async (given) => {
    setSaving(true);
    try {
      setFound(await request(`tasks/judge/queues/${id}/answers`, { method: "POST", body: { query: found.query.id, answer: given } }));
      setPlace(null);
    } catch (error) {
      toastError(error);
    }
    setSaving(false);
  }, [id, found]);
  if (!found) return html`<p class="loading" role="status">Loading…</p>`;
  const { name, question, kind, query, answered, queries } = found;
  const Form = FORMS[kind];
  return html`
    <div class="heading"><a class="crumb" href=${link("task-judge")}>← All queues</a><h1>${question || name}</h1>
      <p class="muted numbers push" role="status">${answered} of ${queries} answered</p></div>
    ${!query && html`<div class="card empty"><h2>You have answered everything</h2><p>Thank you. All answers are saved.</p></div>`}
    ${query && html`
      <div class=${`segments of-${query.segments.length}`} key=${query.id}>
        ${query.segments.map((each, number) => html`<${Segment} key=${number} segment=${each} number=${number} of=${query.segments.length}
          isMarked=${kind === "marks"} place=${place} setPlace=${setPlace} />`)}
      </div>
      <section class="card answer" aria-label="Answer"><${Form} key=${query.id} found=${found} query=${query} answer=${answer} isSaving=${isSaving} place=${place} /></section>`}
  `;
}
