// The bounding boxes of objects over a picture. Names of categories come from a layer: text, and never markup.
import { html } from "../html.js";
import { colorOf } from "./labels.js";

/** @typedef {{slot: number, category: string, x: number, y: number, width: number, height: number}} Box */

const WIDTH = 160;
const HEIGHT = 210;

/** Whether a picture is one of the screen that boxes are of, of any size. @param {any} about */
export function isScreen(about) {
  return about.isDrawnAgain || about.width * HEIGHT === about.height * WIDTH;
}

/** @param {{boxes: Box[]}} props */
export function Boxes({ boxes }) {
  const names = boxes.map(({ category, x, y }) => `${category} at ${x}, ${y}`).join("; ");
  return html`<svg class="boxes" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${`Objects: ${names}`}>
    ${boxes.map(({ slot, category, x, y, width, height }) => html`<g key=${slot} class=${colorOf(category)}>
      <rect x=${x} y=${y} width=${width} height=${height} />
      <text x=${x} y=${y - 1}>${category}</text>
    </g>`)}
  </svg>`;
}
