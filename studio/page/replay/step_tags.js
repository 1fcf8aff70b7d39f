// Tags and rewards of the step that is shown, or of a span.
import { html } from "../html.js";
import { LabelChip } from "./label_chip.js";
import { colorOf, tagsOver, written } from "./labels.js";
import { RewardEntry } from "./reward_entry.js";
import { TagEntry } from "./tag_entry.js";

/**
 * @param {{annotations: import("./live_annotations.js").Annotation[], length: number, span: import("./span.js").Span,
 *   tagging: import("./tagging.js").Tagging}} props
 */
export function StepTags({ annotations, length, span, tagging }) {
  const { over, quick, mayRemove, remove } = tagging;
  const there = tagsOver(annotations, over);
  const has = (label) => there.some((each) => each.value === label);
  return html`
    <section class="card step-tags" aria-label="Tag steps">
      <h2>Tag ${written(over)}</h2>
      <div class="span-choice" role="group" aria-label="Which steps">
        <button class="small" onClick=${span.begin} title="A span begins at this step"><kbd>[</kbd> From here</button>
        <button class="small" onClick=${span.end} title="The span ends at this step"><kbd>]</kbd> To here</button>
        <button class="quiet small" onClick=${span.clear} disabled=${!span.chosen} title="No span (Esc)">Only this step</button>
      </div>
      <div class="chips" aria-label=${`Tags of ${written(over)}`}>
        ${there.map((each) => html`<${LabelChip} key=${each.id} annotation=${each} remove=${mayRemove(each) && remove} />`)}
        ${there.length === 0 && html`<span class="muted small">no tag yet</span>`}
      </div>
      <div class="quick" role="group" aria-label="Labels with a number">
        ${quick.map((label, index) => html`<button key=${label} class=${`toggle named ${colorOf(label)}`} aria-pressed=${has(label)}
          onClick=${() => tagging.toggle(label)}><kbd>${index + 1}</kbd> ${label}</button>`)}
      </div>
      <${TagEntry} id="step-tag" says="Another label (t)" labels=${quick} add=${tagging.tagSteps} />
      <${RewardEntry} over=${over} length=${length} give=${tagging.reward} />
    </section>
  `;
}
