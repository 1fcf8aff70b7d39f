// Where the picture is: on a canvas that keeps its proportions, or as text.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "../html.js";

const SMALL = 480; // pixels: such pictures are enlarged with sharp edges

/** @param {{player: import("./player.js").Player, place: {current: any}, children: any}} props */
export function Stage({ player, place, children }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [text, setText] = useState(/** @type {string | null} */ (null));
  // At once, and over with the canvas: other effects end some time after it is gone, when pictures may still come.
  useLayoutEffect(() => {
    player.showOn((picture) => {
      setText(picture === null ? "There is nothing to see in this environment." : typeof picture === "string" ? picture : null);
      if (picture instanceof ImageBitmap) paint(canvas.current, picture);
    });
    return () => player.showOn(() => {});
  }, [player]);
  return html`
    <div class="arena" ref=${place} tabindex="0" role="application" aria-label="The environment: keys act here">
      <canvas ref=${canvas} width="4" height="3" hidden=${text !== null} role="img" aria-label="What the environment shows"></canvas>
      ${text !== null && html`<pre class="text-picture" aria-label="What the environment shows">${plain(text)}</pre>`}
      ${children}
    </div>
  `;
}

/** @param {HTMLCanvasElement} canvas @param {ImageBitmap} picture */
function paint(canvas, picture) {
  const { width, height } = picture;
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
    canvas.classList.toggle("sharp", Math.max(width, height) <= SMALL);
  }
  canvas.getContext("2d", { alpha: false }).drawImage(picture, 0, 0);
}

/** Without the colours of terminals. */
function plain(text) {
  return text.replaceAll(/\u001b\[[0-9;]*[A-Za-z]/g, "");
}
