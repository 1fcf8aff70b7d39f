// A form that the crowd declares: text, numbers, choices, and Likert scales.
import { useState } from "preact/hooks";
import { html } from "../html.js";

/** @param {{title: string, form: any[], note?: string, send: (answers: object) => Promise<void>}} props */
export function Form({ title, form, note = "", send }) {
  const [isBusy, setIsBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    const given = new FormData(event.target);
    setIsBusy(true);
    await send(Object.fromEntries(form.map((each) => [each.name, answer(each, given.get(each.name))]).filter(([, value]) => value !== null)));
    setIsBusy(false);
  };
  return html`
    <form class="card stack" onSubmit=${submit}>
      <h1>${title}</h1>
      ${note && html`<p class="muted">${note}</p>`}
      ${form.map((each) => html`<${Field} key=${each.name} question=${each} />`)}
      <div class="actions"><button class="primary large" disabled=${isBusy}>Continue</button></div>
    </form>
  `;
}

function answer(question, value) {
  if (value === null || value === "") return null;
  return question.kind === "number" || question.kind === "likert" ? Number(value) : String(value);
}

function Field({ question }) {
  const { name, label, kind, is_required: isRequired } = question;
  if (kind === "choice" || kind === "likert") {
    const options = kind === "choice" ? question.options : Array.from({ length: question.points }, (_, at) => at + 1);
    return html`<fieldset class=${kind}>
      <legend>${label}</legend>
      <div class=${kind === "choice" ? "choices" : "likert-scale"}>
        ${options.map((each) => html`<label><input type="radio" name=${name} value=${each} required=${isRequired} /><span>${each}</span></label>`)}
      </div>
      ${kind === "likert" && html`<p class="hint">1: not at all; ${question.points}: very much</p>`}
    </fieldset>`;
  }
  return html`<label><span>${label}${!isRequired && html` <span class="muted">(optional)</span>`}</span>
    ${kind === "number"
      ? html`<input type="number" step="any" name=${name} required=${isRequired} min=${question.least} max=${question.most} />`
      : html`<textarea name=${name} rows="2" maxlength="10000" required=${isRequired}></textarea>`}
  </label>`;
}
