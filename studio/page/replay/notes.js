// Notes: free text about the episode or some of its steps. One's own can be changed.
import { useState } from "preact/hooks";
import { date } from "../format.js";
import { html } from "../html.js";
import { useEntry } from "../parts/entry.js";
import { written } from "./labels.js";

/**
 * @param {{annotations: import("./live_annotations.js").Annotation[], go: (step: number) => void,
 *   tagging: import("./tagging.js").Tagging}} props
 */
export function Notes({ annotations, go, tagging }) {
  const { isAllowed, signed, over, mayRemove, remove, add } = tagging;
  const notes = annotations.filter((each) => each.kind === "note");
  const [edited, setEdited] = useState(/** @type {string | null} */ (null));
  return html`
    <section class="card notes" aria-label="Notes">
      <h2>Notes</h2>
      <ul>
        ${notes.map((note) => html`<li key=${note.id}>
          ${edited === note.id
            ? html`<${NoteForm} first=${note.value} id=${`note-${note.id}`} says="Change the note" cancel=${() => setEdited(null)}
                save=${async (text) => {
                  const isDone = await add({ kind: "note", text, steps: note.steps, replaces: note.id });
                  if (isDone) setEdited(null);
                  return isDone;
                }} />`
            : html`<p class="note-text">${note.value}</p>
                <p class="muted small note-about">${signed(note)} · ${date(note.time_ms)}
                  ${note.steps && html`${" · "}<button class="text" onClick=${() => go(note.steps[0])}>${written(note.steps)}</button>`}
                  ${mayRemove(note) && html`${" · "}<button class="text" onClick=${() => setEdited(note.id)}>Change</button>
                    ${" · "}<button class="text" onClick=${() => remove(note.id)}>Delete</button>`}</p>`}
        </li>`)}
      </ul>
      ${isAllowed && html`<${NoteForm} id="note" says="Write a note (n)" over=${over}
        save=${(text, steps) => add({ kind: "note", text, steps })} />`}
      ${!isAllowed && notes.length === 0 && html`<p class="muted">No note yet.</p>`}
    </section>
  `;
}

/** @param {{id: string, says: string, first?: string, over?: [number, number], save: Function, cancel?: () => void}} props */
function NoteForm({ id, says, first = "", over, save, cancel }) {
  const [isOfSteps, setOfSteps] = useState(false);
  const [text, setText, submit] = useEntry((entered) => save(entered, isOfSteps ? over : null), first);
  const press = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && submit(event);
  return html`<form class="note-form" onSubmit=${submit}>
    <textarea id=${id} rows="2" maxlength="20000" placeholder=${says} aria-label=${says} value=${text} onKeyDown=${press}
      onInput=${(event) => setText(event.target.value)}></textarea>
    <div class="actions">
      ${over && html`<label class="inline small"><input type="checkbox" checked=${isOfSteps}
        onChange=${(event) => setOfSteps(event.target.checked)} /> only ${written(over)}</label>`}
      <span class="push"></span>
      ${cancel && html`<button type="button" class="quiet" onClick=${cancel}>Cancel</button>`}
      <button disabled=${!text.trim()} title="Ctrl+Enter">Save</button>
    </div>
  </form>`;
}
