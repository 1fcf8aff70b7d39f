// The numbers of an array, in rows as its last axis has them, with a bar of how large each is.
import { exact, rounded } from "../format.js";
import { html } from "../html.js";
import { flatten, summary } from "./values.js";

const MOST_CELLS = 1024;

/** @param {{value: import("./values.js").Value, isRounded: boolean}} props */
export function ArrayValues({ value, isRounded }) {
  const numbers = flatten(value).slice(0, MOST_CELLS);
  const all = value.shape.reduce((product, size) => product * size, 1);
  const width = value.shape.at(-1) || 1;
  const rows = [];
  for (let at = 0; at < numbers.length; at += width) rows.push(numbers.slice(at, at + width));
  const write = isRounded ? rounded : exact;
  return html`
    <${Summary} value=${value} write=${write} />
    <div class="array" tabindex="0" role="region" aria-label="Numbers of the array">
      <table><tbody>
        ${rows.map((row, index) => html`<tr key=${index}>
          ${value.shape.length > 1 && html`<th scope="row">${place(index, value.shape)}</th>`}
          ${row.map((number, column) => html`<td key=${column} title=${`[${[place(index, value.shape), column].filter((each) => each !== "").join(", ")}]`}>${write(number, value.dtype)}</td>`)}
        </tr>`)}
      </tbody></table>
    </div>
    ${numbers.length < all && html`<p class="muted">the first ${numbers.length.toLocaleString("en")} of
      ${` ${all.toLocaleString("en")}`}</p>`}
  `;
}

function Summary({ value, write }) {
  const found = summary(value);
  if (!found) return null;
  const mean = typeof found.mean === "number" ? Number(found.mean.toPrecision(6)) : found.mean;
  return html`<p class="summary"><span><i>min</i> ${write(found.min, value.dtype)}</span>
    <span><i>max</i> ${write(found.max, value.dtype)}</span><span><i>mean</i> ${mean}</span></p>`;
}

/** The index of a row, all axes but the last. @param {number} row @param {number[]} shape */
function place(row, shape) {
  const index = [];
  let left = row;
  for (let axis = shape.length - 2; axis >= 0; axis -= 1) {
    index.unshift(left % shape[axis]);
    left = Math.floor(left / shape[axis]);
  }
  return index.join(", ");
}
