// A tag as a chip, with a button that takes it off where one may.
import { html } from "../html.js";
import { colorOf } from "./labels.js";

/** @param {{annotation: import("./live_annotations.js").Annotation, remove?: (id: string) => void}} props */
export function LabelChip({ annotation, remove }) {
  const title = `${annotation.source}, ${new Date(annotation.time_ms).toLocaleString()}`;
  return html`<span class=${`label ${colorOf(annotation.value)}`} title=${title}>${annotation.value}
    ${remove && html`<button aria-label=${`Take off the tag ${annotation.value}`} title="Take off"
      onClick=${() => remove(annotation.id)}>✕</button>`}</span>`;
}
