// Pages of a participant that are for reading: consent, instructions, and the end.
import { useState } from "preact/hooks";
import { html } from "../html.js";
import { CopyButton } from "../parts/copy_button.js";
import { Markdown } from "../parts/markdown.js";
import { Standings } from "./standings.js";

export function Consent({ me, go }) {
  const [isRead, setIsRead] = useState(false);
  const accept = (event) => {
    event.preventDefault();
    go("consent", { accepted: me.consent.hash });
  };
  return html`
    <form class="card stack" onSubmit=${accept}>
      <h1>${me.name}</h1>
      <${Markdown} text=${me.consent.text} />
      <label class="inline"><input type="checkbox" required checked=${isRead} onChange=${(event) => setIsRead(event.target.checked)} />
        <span>I have read this, and I agree.</span></label>
      <div class="actions"><button class="primary large" disabled=${!isRead}>Continue</button></div>
      <p class="hint">If you do not agree, close this page. Nothing but your visit is stored then.</p>
    </form>
  `;
}

export function Instructions({ me, go }) {
  return html`
    <section class="card stack">
      <h1>Instructions</h1>
      ${me.wrong_checks > 0 && html`<p class="note warning">Not all answers were correct. Please read this again.</p>`}
      ${me.instructions.length > 0
        ? me.instructions.map((text) => html`<${Markdown} text=${text} />`)
        : html`<p>What to do stands beside the game.</p>`}
      <div class="actions"><button class="primary large" onClick=${() => go("instructed")}>I have read this</button></div>
    </section>
  `;
}

export function SentAway({ me }) {
  return html`<div class="card empty" role="status"><h2>Thank you for coming</h2><p>${me.reason}</p>
    <p class="muted">You can close this page, and return the task to the platform that sent you.</p></div>`;
}

/** The end: what was earned, the code, and where one stands among all. */
export function LastPage({ me, again }) {
  const { earned, code, address } = me;
  return html`
    <section class="card stack last-page">
      <h1>Thank you!</h1>
      ${Number(earned.total) > 0 && html`<p>You get <strong class="numbers">${earned.total} ${earned.currency}</strong>${Number(earned.bonus) > 0 && html` (${earned.bonus} of it as a bonus)`}.</p>`}
      ${earned.tickets > 0 && html`<p>You take part in the raffle with ${earned.tickets === 1 ? "one ticket" : `${earned.tickets} tickets`}.</p>`}
      ${code
        ? html`<p>Your completion code:</p><p class="big numbers code">${code}</p>
            <div class="actions">
              <${CopyButton} text=${code} label="Copy the code" />
              ${address && html`<a class="button primary large" href=${address} rel="noreferrer">Finish</a>`}
            </div>`
        : html`<p class="note warning">${me.reason ? "Not all was done" : "You ended before all was done"}, so there is no completion code. Return the task to the platform that sent you.</p>`}
      ${me.can_play_again && html`<div class="actions"><button onClick=${again}>Play again</button></div>`}
    </section>
    <${Standings} />
  `;
}
