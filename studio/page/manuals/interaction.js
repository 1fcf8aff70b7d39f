// What a manual means for one kind of object. Texts of manuals and of models are text and never markup.
import { html } from "../html.js";

const VERDICTS = ["yes", "no", "abstain"];
const REWARDS = { yes: "+5", no: "−5", abstain: "0" };
const KINDS = { yes: "success", no: "danger", abstain: "" };

/**
 * @param {{row: any, decide: ((verdict: string | null) => void) | null}} props `decide`: null for who may only look
 */
export function Interaction({ row, decide }) {
  const decided = row.override ?? row.verdict;
  return html`
    <section class="card manual-row" aria-label=${row.object}>
      <header class="row">
        <h2>${row.object}</h2>
        <span class="muted">${row.word ? `“${row.word}”` : "not mentioned"}</span>
        <span class=${`chip ${KINDS[decided]}`}>hit it: ${decided}, ${REWARDS[decided]}</span>
      </header>
      <p class="numbers">Read as ${row.verdict}, probability of yes ${row.yes.toFixed(2)}${row.override && `; override by ${row.overridden_by}`}</p>
      ${decide && html`<div class="row" role="group" aria-label=${`Verdict on ${row.object}`}>
        ${VERDICTS.map((each) => html`<button type="button" key=${each} aria-pressed=${row.override === each}
          onClick=${() => decide(each)}>${each}</button>`)}
        <button type="button" class="quiet" disabled=${!row.override} onClick=${() => decide(null)}>as read</button>
      </div>`}
      <details><summary>What it was read from</summary>
        <p class="manual-text">${row.context || "The manual has no answer."}</p>
        ${row.replies.map((reply, number) => html`<${Reply} key=${number} reply=${reply} />`)}
      </details>
    </section>
  `;
}

function Reply({ reply }) {
  const candidates = reply.log_probabilities.map(([token, log]) => `${JSON.stringify(token)} ${Math.exp(log).toFixed(3)}`);
  return html`<div class="manual-reply">
    <p class="muted small">${reply.model}, seed ${reply.seed}${candidates.length > 0 && `: ${candidates.join(", ")}`}</p>
    <p class="manual-text">${reply.text}</p>
  </div>`;
}
