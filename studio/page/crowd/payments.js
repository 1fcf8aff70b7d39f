// Pay, counted again from the recordings; files for the platforms, and completion codes.
import { useState } from "preact/hooks";
import { request } from "../api.js";
import { count } from "../format.js";
import { html } from "../html.js";
import { confirmed } from "../parts/dialog.js";
import { useEntry } from "../parts/entry.js";
import { toast, toastError } from "../parts/toasts.js";

/** @param {{crowd: any, load: () => Promise<void>}} props */
export function Payments({ crowd, load }) {
  const [entries, setEntries] = useState(/** @type {any[] | null} */ (null));
  const tally = () => request("crowd/payments").then((found) => setEntries(found.entries), toastError);
  const over = (entries ?? []).filter((each) => ["done", "dropped", "sent away"].includes(each.stage));
  const due = over.filter((each) => each.is_due);
  const prizes = over.filter((each) => each.is_prize_due);
  const number = new Set([...due, ...prizes].map((each) => each.id)).size;
  const paid = async () => {
    const question = { title: `Note ${count(number, "payment")} as paid?`, text: "They will be in no further file.", yes: "Paid" };
    if (!(await confirmed(question))) return;
    const body = { assignments: due.map((each) => each.id), prizes: prizes.map((each) => each.id) };
    await request("crowd/payments", { method: "POST", body }).catch(toastError);
    await Promise.all([tally(), load()]);
  };
  return html`<section class="card stack"><h2>Pay</h2>
    <p class="muted">Everything is counted again from the recordings.</p>
    <div class="actions">
      <button class="primary" onClick=${tally}>Count</button>
      <a class="button" href="/api/crowd/payments.csv" download>payments.csv</a>
      <a class="button" href="/api/crowd/bonuses.csv" download>Bonuses for Prolific</a>
      <a class="button" href="/api/crowd/answers.csv" download>answers.csv</a>
      ${number > 0 && html`<button onClick=${paid}>These ${number} are paid</button>`}
    </div>
    ${entries && html`<div class="table-frame cards"><table>
      <thead><tr><th>Participant</th><th>Treatment</th><th>Counted</th><th class="number">Base</th><th class="number">Bonus</th><th class="number">Raffle</th></tr></thead>
      <tbody>${entries.map(
        (each) => html`<tr key=${each.id}><th class="mono">${each.id.slice(0, 8)}</th><td data-label="Treatment">${each.treatment}</td>
          <td data-label="Counted" class="small">${Object.entries(each.values).map(([name, value]) => `${name} ${Number(value.toFixed(2))}`).join(", ")}</td>
          <td data-label="Base" class="number">${(each.base_cents / 100).toFixed(2)}</td><td data-label="Bonus" class="number">${(each.bonus_cents / 100).toFixed(2)}${each.is_paid ? " ✓" : ""}</td>
          <td data-label="Raffle" class="number">${(each.prize_cents / 100).toFixed(2)}${each.prize_cents > 0 && !each.is_prize_due ? " ✓" : ""}</td></tr>`,
      )}</tbody></table></div>
      <p class="numbers">${crowd.currency} ${((sum(due, "total_cents") + sum(prizes, "prize_cents")) / 100).toFixed(2)} to pay now.</p>`}
    <${Codes} load=${load} />
  </section>`;
}

function sum(entries, name) {
  return entries.reduce((total, each) => total + each[name], 0);
}

function Codes({ load }) {
  const [found, setFound] = useState("");
  const [text, setText, submit] = useEntry(async (code) => {
    try {
      const { person } = await request("crowd/codes", { method: "POST", body: { code } });
      setFound(`The code is of participant ${person.id.slice(0, 8)}, and is used now.`);
      toast("The code is good.", "success");
      await load();
    } catch (error) {
      setFound(error.message);
    }
    return true;
  });
  return html`<form class="row" onSubmit=${submit}>
    <input aria-label="Completion code" placeholder="ABCD-EFGH-JKLM-NPQR" maxlength="100" value=${text} onInput=${(event) => setText(event.target.value)} />
    <button>Check a code</button>${found && html`<span role="status">${found}</span>`}</form>`;
}
