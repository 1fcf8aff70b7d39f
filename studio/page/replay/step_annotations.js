// The tags and rewards of steps, in their order; a click goes there.
import { date } from "../format.js";
import { html } from "../html.js";
import { LabelChip } from "./label_chip.js";
import { written } from "./labels.js";

/**
 * @param {{annotations: import("./live_annotations.js").Annotation[], step: number, go: (step: number) => void,
 *   choose: (span: [number, number] | null) => void, tagging: import("./tagging.js").Tagging}} props
 */
export function StepAnnotations({ annotations, step, go, choose, tagging }) {
  const found = annotations.filter((each) => each.steps && each.kind !== "note");
  found.sort((a, b) => a.steps[0] - b.steps[0] || a.steps[1] - b.steps[1]);
  const show = (each) => {
    go(each.steps[0]);
    choose(each.steps[1] - each.steps[0] > 1 ? each.steps : null);
  };
  return html`
    <section class="card step-annotations" aria-label="Annotations of steps">
      <h2>Annotations of steps</h2>
      ${found.length === 0 && html`<p class="muted">Nothing yet. A key from <kbd>1</kbd> to <kbd>9</kbd> tags the step that is
        shown; <kbd>?</kbd> shows all keys.</p>`}
      <ul>
        ${found.map((each) => html`<li key=${each.id} class=${each.steps[0] <= step && step < each.steps[1] ? "here" : ""}>
          <button class="text place" onClick=${() => show(each)}>${written(each.steps)}</button>
          ${each.kind === "tag"
            ? html`<${LabelChip} annotation=${each} />`
            : html`<span class=${`given ${each.value < 0 ? "negative" : "positive"}`}>reward ${each.value > 0 ? "+" : ""}${each.value}</span>`}
          <span class="muted small who" title=${date(each.time_ms)}>${each.source}</span>
          ${tagging.mayRemove(each) && html`<button class="quiet small take-back" onClick=${() => tagging.remove(each.id)}
            aria-label=${`Take back ${each.value} of ${written(each.steps)}`} title="Take back">✕</button>`}
        </li>`)}
      </ul>
    </section>
  `;
}
