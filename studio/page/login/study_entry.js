// For those who come by the permalink of a study: a name if they like, and in.
import { useState } from "preact/hooks";
import { html } from "../html.js";
import { parse } from "../router.js";

/** @param {{submit: (body: object) => void, study: string, isBusy: boolean}} props */
export function StudyEntry({ submit, study, isBusy }) {
  const [name, setName] = useState("");
  const send = (event) => {
    event.preventDefault();
    const participant = parse().params.get("participant");
    submit({ study, ...(name.trim() && { name: name.trim() }), ...(participant && { participant }) });
  };
  return html`
    <form class="stack" onSubmit=${send}>
      <p>You were sent the link of a study.</p>
      <label><span>Your name <span class="muted">(optional)</span></span>
        <input name="name" autocomplete="name" maxlength="200" autofocus value=${name}
          onInput=${(event) => setName(event.target.value)} />
      </label>
      <p class="hint">What you play is recorded under an anonymous id. Your name is kept apart from it.</p>
      <button class="primary large" disabled=${isBusy}>Go to the study</button>
    </form>
  `;
}

/** The study that the address leads to, if it does: `#study?id=` or `#env?study=`. */
export function studyOfLink() {
  const { name, params } = parse();
  const id = { study: params.get("id"), env: params.get("study") }[name] ?? "";
  return /^[0-9a-f]{32}$/.test(id) ? id : "";
}
