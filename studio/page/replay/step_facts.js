// What was done at a step and what it brought: action, keys, reward, discount, flags.
import { html } from "../html.js";
import { actionName } from "./action_names.js";
import { held } from "./keys_pressed.js";
import { inline } from "./values.js";

/** @param {{values: import("./steps.js").Step, facts: any, sum: string, isRounded: boolean}} props */
export function StepFacts({ values, facts, sum, isRounded }) {
  const field = (name) => values.fields.find((each) => each.name === name) ?? absent(name, facts);
  return html`
    <dl class="step-facts">
      <${Fact} name="Action" field=${field("action")} isRounded=${isRounded} after=${actionName(field("action")?.value, facts.action_names)} />
      <${Fact} name="Reward" field=${field("reward")} isRounded=${isRounded} tone=${tone(field("reward"))} />
      <div><dt>Return so far</dt><dd>${sum}</dd></div>
      <${Fact} name="Discount" field=${field("discount")} isRounded=${isRounded} />
    </dl>
    <p class="flags" aria-label="Flags">${["is_first", "is_last", "is_terminal"].map(
      (flag) => html`<span class=${`flag ${values.flags.includes(flag) ? "on" : ""}`}>${flag}<span class="unseen">
        ${values.flags.includes(flag) ? " yes" : " no"}</span></span>`)}</p>
    ${values.people.map((person) => html`<${Seat} key=${person.seat} person=${person} isOnly=${values.people.length === 1} />`)}
  `;
}

/** A field that other steps of the episode have. */
function absent(name, facts) {
  return facts.fields.some((each) => each.name === name) ? { name, defined: true, value: { kind: "other", text: "–" } } : undefined;
}

function Fact({ name, field, isRounded, after, tone: colour = "" }) {
  if (!field) return null;
  const content = field.defined ? inline(field.value, isRounded) : "undefined";
  return html`<div><dt>${name}</dt><dd class=${field.defined ? colour : "muted"} title=${content}>${content}
    ${field.defined && after && html` <span class="meaning">${after}</span>`}</dd></div>`;
}

function tone(field) {
  if (!field?.defined || typeof field.value.value !== "number" || field.value.value === 0) return "";
  return field.value.value > 0 ? "positive" : "negative";
}

/** Who acted there, and what they held. */
function Seat({ person, isOnly }) {
  const keys = held(person);
  return html`<div class="seat">
    ${!isOnly && html`<span class="seat-name">${person.seat}</span>`}
    <span class="chip">${person.driver}</span>
    <span class="keys" aria-label="Keys held">${keys.length
      ? keys.map(([key, far]) => html`<kbd key=${key}>${key}${far === 1 ? "" : ` ${far.toFixed(2)}`}</kbd>`)
      : html`<span class="muted">no key</span>`}</span>
    ${person.is_default && html`<span class="muted small">default action</span>`}
    ${person.shown_frame !== null && html`<span class="muted small" title="The step on the screen when the keys last changed">saw
      step ${person.shown_frame}</span>`}
  </div>`;
}
