// The raffle: the hash of the tickets is published, then they are drawn with a phrase; anybody can draw them again.
import { useState } from "preact/hooks";
import { request } from "../api.js";
import { count, date } from "../format.js";
import { html } from "../html.js";
import { CopyButton } from "../parts/copy_button.js";
import { confirmed } from "../parts/dialog.js";
import { toastError } from "../parts/toasts.js";

/** @param {{crowd: any, load: () => Promise<void>}} props */
export function Raffle({ crowd, load }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const look = () => request("crowd/raffle").then(setFound, toastError);
  const draw = async (event) => {
    event.preventDefault();
    const entered = new FormData(event.target);
    const body = {
      commitment: found.commitment,
      phrase: String(entered.get("phrase")).trim(),
      prizes: Number(entered.get("prizes")),
      prize_cents: Math.round(Number(entered.get("prize")) * 100),
    };
    const text = `The winners follow from the tickets and from “${body.phrase}”. These tickets are never drawn again.`;
    if (!(await confirmed({ title: `Draw ${count(body.prizes, "winner")}?`, text, yes: "Draw" }))) return;
    try {
      setFound(await request("crowd/raffle", { method: "POST", body }));
      await load();
    } catch (error) {
      toastError(error);
      await look();
    }
  };
  const people = Object.keys(found?.tickets ?? {}).length;
  return html`<section class="card stack" aria-label="Raffle"><h2>Raffle</h2>
    <p class="muted">Publish the hash of the tickets first. Then draw with a phrase that cannot be chosen, such as tomorrow's numbers of a public lottery: anybody who has the tickets can draw them again.</p>
    <div class="actions"><button onClick=${look}>Count tickets</button></div>
    ${found && people === 0 && html`<p>There are no tickets that were not drawn.</p>`}
    ${people > 0 && html`<p>${count(Object.values(found.tickets).reduce((sum, each) => sum + each, 0), "ticket")} of ${people === 1 ? "one person" : `${people} people`}, with the hash <code class="small crowd-hash">${found.commitment}</code> <${CopyButton} text=${found.commitment} label="Copy" /></p>
      <form class="stack" onSubmit=${draw}>
        <div class="row">
          <label>Winners <input name="prizes" type="number" min="1" max="100000" value="1" required /></label>
          <label>Prize of each, in ${crowd.currency} <input name="prize" type="number" min="0.01" step="0.01" max="1000000" required /></label>
        </div>
        <label>Phrase <input name="phrase" maxlength="1000" required /></label>
        <div class="actions"><button class="primary">Draw</button></div>
      </form>`}
    ${(found?.raffles ?? []).map((each) => html`<${Drawn} key=${each.number} raffle=${each} currency=${crowd.currency} />`)}
  </section>`;
}

function Drawn({ raffle, currency }) {
  const { number, winners, tickets, phrase, commitment, prize_cents: cents, drawn_ns: drawn } = raffle;
  return html`<article class="stack">
    <h3>Raffle ${number}, ${date(new Date(drawn / 1e6).toISOString())}</h3>
    <p>${(cents / 100).toFixed(2)} ${currency} each for ${winners.map((each) => html`<code>${each.slice(0, 8)}</code> `)}</p>
    <p class="small muted">Of ${count(Object.keys(tickets).length, "participant")}, with the phrase “${phrase}” and the hash <code class="crowd-hash">${commitment}</code></p>
    <div class="actions"><${CopyButton} text=${JSON.stringify({ tickets, prizes: raffle.prizes, phrase })} label="Copy tickets and phrase" /></div>
  </article>`;
}
