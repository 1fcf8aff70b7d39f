// One picture of a step on a canvas: the pixels of the recording, one for one.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../html.js";
import { Boxes, isScreen } from "./boxes.js";

/** @param {{steps: import("./steps.js").Steps, step: number, shown: import("./pictures.js").Picture, name: string, about: any,
 *   boxes: import("./boxes.js").Box[]}} props */
export function Picture({ steps, step, shown, name, about, boxes }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let isWanted = true;
    const draw = (bitmap) => {
      if (!isWanted || !canvas.current) return;
      paint(canvas.current, bitmap);
      canvas.current.dataset.step = String(step);
      setProblem("");
    };
    const there = steps.pictures.get(step, shown);
    if (there) draw(there);
    else steps.pictures.load(step, shown).then(draw, (error) => isWanted && setProblem(error.message));
    return () => {
      isWanted = false;
    };
  }, [steps, step, shown.field, shown.frame]);
  return html`
    <figure class="picture">
      <div class="picture-frame">
        <canvas ref=${canvas} role="img" aria-label=${`${name} of step ${step}`} width="1" height="1"></canvas>
        ${isScreen(about) && boxes.length > 0 && html`<${Boxes} boxes=${boxes} />`}
      </div>
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
      <figcaption>
        <span>${name}</span>
        ${about.isDrawnAgain
          ? html`<span class="muted">not recorded: made again from the seed and the actions</span>`
          : html`<span class="muted">${about.width}×${about.height} ${about.dtype}${about.exact ? "" : scale(about.range)}</span>`}
        <a class="muted" href=${steps.pictures.address(step, shown)} target="_blank" rel="noopener"
          title="This picture as a PNG">PNG</a>
      </figcaption>
    </figure>
  `;
}

function paint(canvas, bitmap) {
  if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
    canvas.width = bitmap.width;
    canvas.height = bitmap.height;
  }
  canvas.getContext("2d").drawImage(bitmap, 0, 0);
}

/** Numbers that are no bytes are shown as grey from one to the other. */
function scale([low, high]) {
  return `, ${Number(low).toPrecision(3)} to ${Number(high).toPrecision(3)} as black to white`;
}
