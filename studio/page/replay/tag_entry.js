// Where a label is written, with those that are in use to choose from.
import { html } from "../html.js";
import { useEntry } from "../parts/entry.js";

/** @param {{id: string, says: string, labels: string[], add: (text: string) => Promise<boolean>}} props */
export function TagEntry({ id, says, labels, add }) {
  const [text, setText, submit] = useEntry(add);
  return html`<form class="tag-entry" onSubmit=${submit}>
    <input id=${id} list=${`${id}-labels`} value=${text} maxlength="200" autocomplete="off" placeholder=${says} aria-label=${says}
      onInput=${(event) => setText(event.target.value)} />
    <datalist id=${`${id}-labels`}>${labels.map((label) => html`<option value=${label} />`)}</datalist>
    <button disabled=${!text.trim()}>Add</button>
  </form>`;
}
