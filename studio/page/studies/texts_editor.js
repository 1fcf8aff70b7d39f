// What people read of a study.
import { useState } from "preact/hooks";
import { html } from "../html.js";
import { Markdown } from "../parts/markdown.js";

/** @param {{draft: any, setDraft: (draft: any) => void, problem: {message: string, where: string}}} props */
export function TextsEditor({ draft, setDraft, problem }) {
  const change = (name) => (event) => setDraft({ ...draft, [name]: event.target.value });
  return html`
    <section class="card stack">
      <label>Name
        <input name="name" required maxlength="200" value=${draft.name} onInput=${change("name")}
          aria-invalid=${problem.where === "name"} />
      </label>
      <label><span>Description <span class="muted">(for the list of studies)</span></span>
        <input name="description" maxlength="2000" value=${draft.description} onInput=${change("description")} />
      </label>
      <${Instructions} label="Instructions" value=${draft.instructions} set=${change("instructions")} />
    </section>
  `;
}

/**
 * Text in a little Markdown, and how it will look.
 * @param {{label: string, value: string, set: (event: any) => void}} props
 */
export function Instructions({ label, value, set }) {
  const [isShown, setIsShown] = useState(false);
  return html`<div class="field">
    <label>${label}
      ${!isShown && html`<textarea maxlength="50000" value=${value} onInput=${set} />`}
    </label>
    ${isShown && html`<div class="preview"><${Markdown} text=${value} /></div>`}
    <div class="row hint">
      <span>What is to be done, and how. # Heading, - list, **bold**, *emphasis*, \`code\` and links are shown as such.</span>
      <button type="button" class="text push" aria-pressed=${isShown} onClick=${() => setIsShown(!isShown)}>${isShown ? "Write" : "Preview"}</button>
    </div>
  </div>`;
}
