// The forms of answers: one for each kind.
import { useEffect, useState } from "preact/hooks";
import { html } from "../../html.js";
import { Correction } from "./correction.js";

/** @typedef {{found: any, query: any, answer: (given: object) => void, isSaving: boolean, place: any}} Props */

const CHOICES = [
  { choice: "first", title: "1 is better", key: "ArrowLeft", shown: "←" },
  { choice: "tie", title: "Equally good", key: "ArrowDown", shown: "↓" },
  { choice: "second", title: "2 is better", key: "ArrowRight", shown: "→" },
  { choice: "cannot say", title: "Cannot say", key: "0", shown: "0" },
];

/** @param {Props} props */
function Comparison({ answer, isSaving }) {
  useKeys(CHOICES, ({ choice }) => !isSaving && answer({ choice }));
  return html`<div class="actions choices-of-two">${CHOICES.map(
    ({ choice, title, shown }) => html`<button class="large" disabled=${isSaving} onClick=${() => answer({ choice })}><kbd>${shown}</kbd> ${title}</button>`,
  )}</div>`;
}

/** @param {Props} props */
function Rating({ found, answer, isSaving }) {
  const { low, high } = found;
  const isShort = Number.isInteger(low) && Number.isInteger(high) && high - low < 12;
  const values = isShort ? Array.from({ length: high - low + 1 }, (_, each) => low + each) : [];
  const [value, setValue] = useState((low + high) / 2);
  useKeys(values.filter((each) => each >= 0 && each < 10).map((each) => ({ key: String(each), value: each })), (each) => !isSaving && give(each.value));
  const give = (chosen) => answer({ value: chosen, low, high });
  return html`<div class="actions">
    ${isShort
      ? values.map((each) => html`<button class="large" disabled=${isSaving} aria-label=${`Rate ${each}`} onClick=${() => give(each)}>${each}</button>`)
      : html`<label class="inline">${low} <input type="range" min=${low} max=${high} step="any" value=${value} aria-label="Rating"
          onInput=${(event) => setValue(Number(event.target.value))} /> ${high}</label>
        <button class="primary" disabled=${isSaving} onClick=${() => give(value)}>Rate ${value.toPrecision(3)}</button>`}
    <button class="large quiet" disabled=${isSaving} onClick=${() => give(null)}>Cannot say</button>
  </div><p class="hint">${low} is the worst, ${high} the best.</p>`;
}

/** @param {Props} props */
function Ranking({ query, answer, isSaving }) {
  const [ranks, setRanks] = useState(/** @type {(number | null | undefined)[]} */ (query.segments.map(() => undefined)));
  const set = (number) => (event) => setRanks(ranks.map((each, at) => (at === number ? read(event.target.value) : each)));
  return html`<div class="row">${query.segments.map(
    (_, number) => html`<label class="inline">${number + 1}
      <select onChange=${set(number)} aria-label=${`Rank of segment ${number + 1}`}>
        <option value="">rank…</option>${query.segments.map((__, each) => html`<option value=${each + 1}>${each + 1}</option>`)}
        <option value="none">cannot say</option></select></label>`,
  )}
    <button class="primary push" disabled=${isSaving || ranks.includes(undefined)} onClick=${() => answer({ ranks })}>Save</button></div>
    <p class="hint">1 is the best. Equal ranks are ties.</p>`;
}

function read(text) {
  if (text === "") return undefined;
  return text === "none" ? null : Number(text);
}

/** @param {Props} props */
function Text({ answer, isSaving }) {
  const [text, setText] = useState("");
  return html`<form class="stack" onSubmit=${(event) => {
    event.preventDefault();
    answer({ text: text.trim() });
  }}><label>What do you see?<textarea value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
    <div class="actions"><button class="primary" disabled=${isSaving || !text.trim()}>Save</button></div></form>`;
}

/** @param {Props} props */
function Demonstration({ answer, isSaving }) {
  const [task, setTask] = useState("");
  return html`<div class="row"><input value=${task} aria-label="Task" placeholder="What is shown here" onInput=${(event) => setTask(event.target.value)} />
    <button class="primary" disabled=${isSaving} onClick=${() => answer({ task: task.trim() })}>This shows how to do it</button></div>`;
}

/** @param {Props} props */
function Marks({ answer, isSaving, place }) {
  const [weight, setWeight] = useState("1");
  const [label, setLabel] = useState("");
  return html`<div class="row">
    <span>${place ? `${place.width} × ${place.height} pixels of step ${place.step + 1}` : "Draw a rectangle on the picture."}</span>
    <select class="narrow" value=${weight} aria-label="Good or bad" onChange=${(event) => setWeight(event.target.value)}><option value="1">good</option><option value="-1">bad</option></select>
    <input value=${label} aria-label="What is there" placeholder="What is there" onInput=${(event) => setLabel(event.target.value)} />
    <button class="primary push" disabled=${isSaving || !place}
      onClick=${() => answer({ features: [], places: [{ ...place, weight: Number(weight), label: label.trim() }] })}>Save</button></div>`;
}

/** @param {{key: string}[]} choices @param {(choice: any) => void} choose */
function useKeys(choices, choose) {
  useEffect(() => {
    const down = (event) => {
      const isField = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
      const chosen = choices.find(({ key }) => key === event.key);
      if (isField || event.repeat || event.ctrlKey || event.metaKey || event.altKey || !chosen) return;
      event.preventDefault();
      choose(chosen);
    };
    addEventListener("keydown", down);
    return () => removeEventListener("keydown", down);
  });
}

/** By kind. */
export const FORMS = { comparison: Comparison, ranking: Ranking, rating: Rating, text: Text, demonstration: Demonstration, correction: Correction, marks: Marks };
