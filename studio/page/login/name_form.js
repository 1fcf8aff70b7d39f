// The name of a participant.
import { useState } from "preact/hooks";
import { html } from "../html.js";

/** @param {{submit: (name: string, email: string) => void, isBusy: boolean}} props */
export function NameForm({ submit, isBusy }) {
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const send = (event) => {
    event.preventDefault();
    submit(name.trim(), email.trim());
  };
  return html`
    <form class="stack" onSubmit=${send}>
      <label>Your name
        <input name="name" autocomplete="name" maxlength="200" required autofocus value=${name}
          onInput=${(event) => setName(event.target.value)} />
      </label>
      <label><span>E-mail address <span class="muted">(optional)</span></span>
        <input name="email" type="email" autocomplete="email" maxlength="254" value=${email}
          onInput=${(event) => setEmail(event.target.value)} />
      </label>
      <p class="hint">What you play is recorded under an anonymous id. Your name and address are kept apart from it.</p>
      <button class="primary large" disabled=${isBusy || !name.trim()}>Continue</button>
    </form>
  `;
}
