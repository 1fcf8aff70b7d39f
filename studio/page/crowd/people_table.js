// The table of participants, and what can be done for one of them.
import { useState } from "preact/hooks";
import { request } from "../api.js";
import { date } from "../format.js";
import { html } from "../html.js";
import { confirmed, Dialog } from "../parts/dialog.js";
import { useEntry } from "../parts/entry.js";
import { toast, toastError } from "../parts/toasts.js";

const MOST = 200;
const KINDS = { done: "success", dropped: "warning", "sent away": "warning", play: "accent" };

/** @param {{crowd: any, load: () => Promise<void>}} props */
export function PeopleTable({ crowd, load }) {
  const [shown, setShown] = useState(/** @type {any} */ (null));
  const people = [...crowd.people].reverse();
  const open = async ({ id }) => {
    try {
      setShown(await request(`crowd/people/${id}`));
    } catch (error) {
      toastError(error);
    }
  };
  return html`
    <section class="table-frame cards" aria-label="Participants">
      <table>
        <thead><tr><th>Participant</th><th>From</th><th>Stage</th><th>Task</th><th class="number">Completed</th><th class="number">Pay</th><th>Arrived</th></tr></thead>
        <tbody>${people.slice(0, MOST).map(
          (each) => html`<tr key=${each.id}>
            <th><button class="text mono" onClick=${() => open(each)}>${each.id.slice(0, 8)}</button></th>
            <td data-label="From">${each.kind}${each.is_test && html` <span class="chip">test</span>`}</td>
            <td data-label="Stage"><span class=${`chip ${KINDS[each.stage] ?? ""}`}>${each.is_connected && html`<span class="dot"></span>`}${each.stage}${each.left ? ` at ${each.left}` : ""}</span></td>
            <td data-label="Task">${each.task ?? "–"}</td>
            <td data-label="Completed" class="number">${Math.floor(each.completion * 100)} %</td>
            <td data-label="Pay" class="number">${(each.cents / 100).toFixed(2)}${each.is_paid ? " ✓" : ""}</td>
            <td data-label="Arrived">${date(new Date(each.arrived * 1000).toISOString())}</td>
          </tr>`,
        )}</tbody>
      </table>
    </section>
    ${people.length > MOST && html`<p class="muted small">The latest ${MOST} of ${people.length}.</p>`}
    ${shown && html`<${OnePerson} found=${shown} close=${() => setShown(null)} load=${load} />`}
  `;
}

function OnePerson({ found, close, load }) {
  const { person, participant, sent, lag } = found;
  const path = `crowd/people/${person.id}`;
  const [link, setLink] = useState("");
  const makeLink = async () => {
    try {
      const made = await request(`${path}/link`, { method: "POST", body: {} });
      setLink(`${location.origin}/crowd/${encodeURIComponent(made.group)}#login?token=${made.token}`);
    } catch (error) {
      toastError(error);
    }
  };
  const erase = async () => {
    const question = {
      title: "Erase this person?",
      text: "The platform's id, answers and messages are deleted, and they are logged out. Pay them first. What they played stays, without a name.",
      yes: "Erase",
      isDanger: true,
    };
    if (!(await confirmed(question))) return;
    await request(`${path}/personal`, { method: "DELETE" }).then(() => toast("Erased.", "success"), toastError);
    close();
    await load();
  };
  const [text, setText, submit] = useEntry(async (written) => {
    try {
      await request("crowd/messages", { method: "POST", body: { text: written, person: person.id } });
      toast("Sent.", "success");
      return true;
    } catch (error) {
      toastError(error);
      return false;
    }
  });
  return html`<${Dialog} title=${`Participant ${person.id.slice(0, 8)}`} onClose=${close}>
    <div class="stack">
      <p class="small">Known to ${person.kind} as <span class="mono">${participant ?? "–"}</span>. ${person.reason}</p>
      ${lag.presses > 0 && html`<p class="small muted">Keys pressed: ${lag.presses}; behind the game by ${lag.p50} steps in the median, ${lag.p95} in 95 %, ${lag.p99} in 99 % of the cases.</p>`}
      <pre class="sent small">${JSON.stringify(sent, null, 2)}</pre>
      <form class="row" onSubmit=${submit}>
        <input aria-label="Message to this person" maxlength="4000" value=${text} onInput=${(event) => setText(event.target.value)} /><button>Send</button>
      </form>
      ${link && html`<input readonly aria-label="Link of this person" value=${link} onFocus=${(event) => event.target.select()} />`}
      <div class="actions">
        ${person.session && person.stage === "play" && html`<a class="button" href=${`#watch?session=${person.session}`}>Watch</a>`}
        <button onClick=${makeLink}>Link to come back by</button>
        <button class="danger" onClick=${erase}>Erase</button>
        <button class="push primary" onClick=${close}>Close</button>
      </div>
    </div>
  <//>`;
}
