// What becomes of an episode: saved as completed, saved as broken off, or rejected.
import { useState } from "preact/hooks";
import { short } from "../format.js";
import { html } from "../html.js";
import { Dialog } from "../parts/dialog.js";

const HASTE_MS = 500; // who is still hammering on keys has not read the question
// Where the game ends by itself, no button has the focus: the key that was an action until then would press it.

/** @param {{player: import("./player.js").Player, ask: {is_completed: boolean, is_over: boolean}}} props */
export function SaveDialog({ player, ask }) {
  const [isCompleted, setIsCompleted] = useState(ask.is_completed);
  const [sinceMs] = useState(() => performance.now());
  const { state, votes, welcome } = player.known;
  const { agreed = {}, needed = 0 } = votes.confirm ?? {};
  const others = Object.keys(agreed).filter((seat) => seat !== welcome.seat);
  const hasAgreed = welcome.seat in agreed && needed > 0;
  const total = Object.values(state?.totals ?? {})[0] ?? player.shown.total;
  const unlessHasty = (answer) => (event) => {
    const isByKey = event.detail === 0;
    if (!isByKey || performance.now() - sinceMs > HASTE_MS) answer();
  };
  const save = () => player.send("confirm", { save: true, completed: isCompleted });
  const reject = () => player.send("confirm", { save: false });
  const playOn = () => player.send("resume");
  return html`
    <${Dialog} title=${ask.is_over ? "The episode is over" : "End this episode?"} onClose=${ask.is_over ? reject : playOn}>
      <dl class="outcome numbers" tabindex="-1" autofocus=${ask.is_over}>
        <div><dt>Steps</dt><dd>${(state?.step ?? player.shown.step).toLocaleString("en")}</dd></div>
        <div><dt>Return</dt><dd>${short(total)}</dd></div>
      </dl>
      <label class="inline">
        <input type="checkbox" checked=${isCompleted} onChange=${(event) => setIsCompleted(event.target.checked)} />
        <span>The task was completed</span>
      </label>
      <p class="hint">${ask.is_over ? "Esc rejects the episode." : "Esc goes on playing."} Rejected episodes are left out of exports.</p>
      ${needed > 0 && others.length > 0 && html`<p class="note" role="status">${others.map((seat) => `${seat}: ${agreed[seat]}`).join(", ")}</p>`}
      ${hasAgreed && html`<p class="note" role="status">You chose “${agreed[welcome.seat]}”. Waiting for the others.</p>`}
      <div class="actions">
        ${!ask.is_over && html`<button class="quiet" onClick=${playOn}>Play on</button>`}
        <button class="danger" onClick=${unlessHasty(reject)}>Reject</button>
        <button class="primary" autofocus=${!ask.is_over} onClick=${unlessHasty(save)}>Save</button>
      </div>
    <//>
  `;
}
