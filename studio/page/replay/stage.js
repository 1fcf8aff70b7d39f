// What there was to see at a step: its pictures, several at once if one likes, or its text.
import { useState } from "preact/hooks";
import { html } from "../html.js";
import { Picture } from "./picture.js";
import { nameOf, picturesIn } from "./pictures.js";
import { screenText } from "./screen_text.js";

/**
 * @typedef {import("./pictures.js").Picture} Shown
 * @param {{steps: import("./steps.js").Steps, step: number, values: import("./steps.js").Step, shown: Shown[],
 *   show: (shown: Shown[]) => void}} props
 */
export function Stage({ steps, step, values, shown, show }) {
  const [hasBoxes, setBoxes] = useState(true);
  const pictures = picturesIn(values);
  const text = screenText(values);
  const places = pictures.map((each) => each.place);
  const there = shown.filter((each) => places.includes(each.field));
  return html`
    <div class="stage">
      ${pictures.length > 1 && html`<${Choice} pictures=${pictures} places=${places} shown=${shown} show=${show} />`}
      ${values.boxes.length > 0 && html`<div class="picture-choice"><button class="toggle" aria-pressed=${hasBoxes}
        onClick=${() => setBoxes(!hasBoxes)}>Objects</button></div>`}
      ${pictures.length === 0
        ? html`<pre class="screen" aria-label=${`Text of step ${step}`} tabindex="0">${text}</pre>`
        : html`<div class=${`pictures of-${Math.min(there.length, 4)}`}>
            ${there.map((each) => {
              const about = pictures.find((picture) => picture.place === each.field);
              return html`<div class="picture-place" key=${each.field}>
                <${Picture} steps=${steps} step=${step} shown=${each} name=${nameOf(each.field, places)} about=${about}
                  boxes=${hasBoxes ? values.boxes : []} />
                ${about.frames > 1 && html`<${FrameChoice} frames=${about.frames} chosen=${each}
                  choose=${(frame) => show(shown.map((one) => (one === each ? { ...each, frame } : one)))} />`}
              </div>`;
            })}
          </div>`}
    </div>
  `;
}

/** Whether there is anything to see. @param {import("./steps.js").Step} values */
export function hasStage(values) {
  return picturesIn(values).length > 0 || screenText(values) !== null;
}

/** Turns pictures on and off; the last one stays. */
function Choice({ pictures, places, shown, show }) {
  const change = (picture) => {
    const others = shown.filter((each) => each.field !== picture.place);
    if (others.length < shown.length) return others.length && show(others);
    const ordered = [...shown, { field: picture.place, frame: picture.frames - 1 }];
    return show(ordered.sort((a, b) => places.indexOf(a.field) - places.indexOf(b.field)));
  };
  return html`<div class="picture-choice" role="group" aria-label="Pictures">
    ${pictures.map((picture) => {
      const isShown = shown.some((each) => each.field === picture.place);
      return html`<button class="toggle named" key=${picture.place} aria-pressed=${isShown} onClick=${() => change(picture)}
        title=${picture.place}>${nameOf(picture.place, places)}</button>`;
    })}
  </div>`;
}

function FrameChoice({ frames, chosen, choose }) {
  return html`<label class="frame-choice">Frame
    <input type="range" min="0" max=${frames - 1} value=${chosen.frame} onInput=${(event) => choose(Number(event.target.value))} />
    ${chosen.frame + 1} of ${frames}</label>`;
}

/** The picture after the one that is shown alone, for a key. @param {import("./steps.js").Step} values @param {Shown[]} shown */
export function following(values, shown) {
  const pictures = picturesIn(values);
  if (!pictures.length) return shown;
  const at = pictures.findIndex((each) => each.place === shown[0]?.field);
  const next = pictures[(at + 1) % pictures.length];
  return [{ field: next.place, frame: next.frames - 1 }];
}
