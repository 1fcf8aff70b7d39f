// A message to the experimenter.
import { request } from "../api.js";
import { html } from "../html.js";
import { useEntry } from "../parts/entry.js";
import { toast, toastError } from "../parts/toasts.js";

export function Report() {
  const [text, setText, submit] = useEntry(async (written) => {
    try {
      await request("crowd/me/texts", { method: "POST", body: { text: written } });
      toast("Your message was sent.", "success");
      return true;
    } catch (error) {
      toastError(error);
      return false;
    }
  });
  return html`<details class="report"><summary>Is there a problem?</summary>
    <form class="row" onSubmit=${submit}>
      <input aria-label="Message to the people who run this study" maxlength="4000" value=${text} onInput=${(event) => setText(event.target.value)} />
      <button>Send</button>
    </form></details>`;
}
