// Recorded values as a tree: nests open and close, arrays are summed up until they are opened.
import { useState } from "preact/hooks";
import { exact, rounded } from "../format.js";
import { html } from "../html.js";
import { ArrayValues } from "./array_values.js";
import { inline, isInline, summary } from "./values.js";

const OPEN_DEPTH = 2;
const MOST_OPEN = 32;
const SHOWN_ABOVE = "play"; // who acted, and with which keys, stands above the tree

/**
 * What is open stays open from step to step, because keys are names.
 * @param {{fields: {name: string, defined?: boolean, value: import("./values.js").Value}[], isRounded: boolean, depth?: number}} props
 */
export function ValueTree({ fields, isRounded, depth = 0 }) {
  return html`<dl class="values">
    ${fields.map((field) => html`<${Entry} key=${field.name} ...${field} isRounded=${isRounded} depth=${depth} />`)}
  </dl>`;
}

function Entry({ name, defined = true, value, isRounded, depth }) {
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH && value.kind !== "array" && (value.size ?? 0) <= MOST_OPEN && name !== SHOWN_ABOVE);
  const type = typeOf(value);
  if (!defined) {
    return html`<div class="entry"><dt>${name}</dt>
      <dd class="muted" title="Nothing was done here, so this is not defined">undefined</dd></div>`;
  }
  if (isInline(value) || value.kind === "image") {
    return html`<div class="entry"><dt title=${type}>${name}</dt><dd>${inline(value, isRounded)}</dd></div>`;
  }
  return html`<div class="entry nest"><dt><button class="fold named" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
      <span aria-hidden="true">${isOpen ? "▾" : "▸"}</span> ${name}</button>
      <span class="muted type">${type}</span></dt>
    ${!isOpen && html`<dd class="folded"><${Folded} value=${value} isRounded=${isRounded} /></dd>`}
    ${isOpen && html`<dd><${Inside} value=${value} isRounded=${isRounded} depth=${depth + 1} /></dd>`}
  </div>`;
}

function Inside({ value, isRounded, depth }) {
  switch (value.kind) {
    case "array":
      return html`<${ArrayValues} value=${value} isRounded=${isRounded} />`;
    case "text":
      return html`<pre class="text">${value.value}${value.size > value.value.length ? "…" : ""}</pre>`;
    case "dict":
      return html`<${ValueTree} fields=${value.items.map(([name, item]) => ({ name, value: item }))} isRounded=${isRounded} depth=${depth} />
        <${More} value=${value} />`;
    default:
      return html`<${ValueTree} fields=${value.items.map((item, index) => ({ name: `[${index}]`, value: item }))}
          isRounded=${isRounded} depth=${depth} /><${More} value=${value} />`;
  }
}

function More({ value }) {
  const left = value.size - value.items.length;
  return left > 0 && html`<p class="muted">and ${left.toLocaleString("en")} more</p>`;
}

function Folded({ value, isRounded }) {
  const found = value.kind === "array" ? summary(value) : null;
  if (!found) return html`<span class="muted ellipsis">${inline(value, isRounded)}</span>`;
  const write = (number, type) => (isRounded ? rounded(number, type) : exact(number, type));
  return html`<span class="summary"><span><i>min</i> ${write(found.min, value.dtype)}</span>
    <span><i>max</i> ${write(found.max, value.dtype)}</span>
    <span><i>mean</i> ${typeof found.mean === "number" ? Number(found.mean.toPrecision(4)) : found.mean}</span></span>`;
}

function typeOf(value) {
  if (value.kind === "array" || value.kind === "image") return `${value.dtype} [${value.shape.join(", ")}]`;
  if (value.kind === "number") return value.type;
  if (value.size === undefined || value.kind === "text") return value.kind;
  return `${value.kind} of ${value.size}`;
}
