// Who sits where: people, programs, and who is gone; and what the people have yet to agree on.
import { html } from "../html.js";

const STATES = {
  person: ["playing", "success"],
  program: ["program", ""],
  lost: ["lost connection", "danger"],
  away: ["program acts", "warning"],
  empty: ["not here yet", "warning"],
  nobody: ["nobody", ""],
};
const WANTED = { pause: "a pause", cancel: "to end the episode", confirm: "to save the episode" };
const OPTIONS = { completed: "save it as completed", saved: "save it, not completed", rejected: "reject it" };

/** @param {{player: import("./player.js").Player}} props */
export function Company({ player }) {
  const { company, welcome, drivers } = player.known;
  if (!company || company.length < 2) return null;
  return html`<section class="card company" aria-label="Players">
    <h2>Players</h2>
    <ul>
      ${company.map(({ seat, state, program }, number) => {
        const [text, kind] = STATES[drivers[seat] === "policy" ? "program" : state] ?? STATES.nobody;
        return html`<li key=${seat} class="row">
          <span class=${`seat-dot seat-${number % 8}`} aria-hidden="true"></span>
          <span class="cut">${seat}${seat === welcome.seat && html` <strong>(you)</strong>`}</span>
          <span class=${`chip push ${kind}`} title=${program}>${text}</span>
        </li>`;
      })}
    </ul>
    <${Votes} player=${player} />
  </section>`;
}

/** What a person wants, and a button to agree. */
function Votes({ player }) {
  const { votes, welcome } = player.known;
  const open = Object.values(votes).filter(({ needed }) => needed > 0);
  return open.map(({ about, agreed, needed }) => {
    const seats = Object.keys(agreed);
    const hasAgreed = seats.includes(welcome.seat);
    const option = agreed[seats[0]];
    return html`<div key=${about} class="note vote" role="status">
      <p>${seats.join(", ")} ${seats.length === 1 ? "wants" : "want"} ${WANTED[about]}${OPTIONS[option] ? `: ${OPTIONS[option]}` : ""}.
        ${" "}<span class="numbers">${seats.length} of ${needed}</span></p>
      ${player.isSeated && !hasAgreed && html`<button onClick=${() => agree(player, about, option)}>Agree</button>`}
    </div>`;
  });
}

function agree(player, about, option) {
  const fields = about === "confirm" ? { save: option !== "rejected", completed: option === "completed" } : {};
  player.send(about, fields);
}

/** The seat of a person, in its colour. @param {{welcome: any}} props */
export function SeatChip({ welcome }) {
  if (!welcome?.seat || welcome.seats.length < 2) return null;
  return html`<span class="chip"><span class=${`seat-dot seat-${welcome.seat_number % 8}`} aria-hidden="true"></span>You are ${welcome.seat}</span>`;
}
