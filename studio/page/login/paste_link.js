// For those who come without a link, or with one that a program broke in two.
import { useState } from "preact/hooks";
import { html } from "../html.js";
import { link } from "../router.js";

/** @param {{submit: (token: string) => void, hint: string, isBusy: boolean}} props */
export function PasteLink({ submit, hint, isBusy }) {
  const [text, setText] = useState("");
  const send = (event) => {
    event.preventDefault();
    const given = new URLSearchParams(text.trim().replace(/^[^?]*[?]/, ""));
    const invitation = given.get("invitation");
    if (invitation) location.hash = link("login", { invitation });
    else submit(given.get("token") || text.trim());
  };
  return html`
    <form class="stack" onSubmit=${send}>
      <p>${hint}</p>
      <label>Link or token
        <input name="token" autocomplete="off" spellcheck="false" required value=${text}
          onInput=${(event) => setText(event.target.value)} />
      </label>
      <button class="primary large" disabled=${isBusy || !text.trim()}>Log in</button>
    </form>
  `;
}
