// Who sits where in an environment with several seats, and how people come together.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { html } from "../html.js";
import { bodyOf } from "./draft.js";

const WHOSE = [
  ["one", "anybody"],
  ["vote", "more than half"],
  ["all", "all together"],
  ["nobody", "nobody"],
];
const DECIDED = [
  ["pause", "Who may pause"],
  ["cancel", "Who may end an episode"],
  ["confirm", "Who decides whether it is saved"],
];

/** @param {{environment: any, actors: string[], set: (changes: any) => void}} props `actors`: programs that may take seats */
export function SeatsEditor({ environment, actors, set }) {
  const { seats, together } = environment;
  const [status, setStatus] = useState("");
  const find = async () => {
    setStatus("Making the environment, to see its seats…");
    try {
      const [wanted] = bodyOf({ name: "", environments: [{ ...environment, seats: [] }] }).environments;
      const answer = await request("environments/seats", { method: "POST", body: { environment: wanted } });
      set({ seats: answer.seats.map(({ name }) => ({ name })) });
      setStatus("");
    } catch (error) {
      setStatus(error.message);
    }
  };
  useEffect(() => {
    if (seats.length === 0) find();
  }, [environment.environment]);
  const change = (name, changes) => set({ seats: seats.map((each) => (each.name === name ? { ...each, ...changes } : each)) });
  const people = seats.filter((each) => each.is_human !== false).length;
  return html`
    <fieldset class="seats-editor">
      <legend>Seats</legend>
      <p class="muted small" role="status">${status}</p>
      <div class="scrolled"><table>
        <thead><tr><th scope="col">Seat</th><th scope="col">Who sits there</th><th scope="col">Program</th><th scope="col">Required</th></tr></thead>
        <tbody>${seats.map((each) => html`<${Seat} key=${each.name} seat=${each} actors=${actors} change=${change} />`)}</tbody>
      </table></div>
    </fieldset>
    ${people > 1 && html`<${Together} together=${together} set=${(changes) => set({ together: { ...together, ...changes } })} />`}
  `;
}

function Seat({ seat, actors, change }) {
  const { name, is_human: isHuman = true, actor = "", is_required: isRequired = true } = seat;
  return html`<tr>
    <th scope="row">${name}</th>
    <td><select aria-label=${`Who sits in ${name}`} onChange=${(event) => change(name, { is_human: event.target.value === "person" })}>
      <option value="person" selected=${isHuman}>a person</option>
      <option value="program" selected=${!isHuman}>a program</option></select></td>
    <td><select aria-label=${`Program of ${name}`} onChange=${(event) => change(name, { actor: event.target.value })}>
      <option value="" selected=${actor === ""}>${isHuman ? "none takes over" : "the default action"}</option>
      ${actors.map((each) => html`<option value=${each} selected=${each === actor}>${isHuman ? `${each} takes over` : each}</option>`)}</select></td>
    <td><input type="checkbox" aria-label=${`${name} is required`} checked=${isRequired}
      onChange=${(event) => change(name, { is_required: event.target.checked })} /></td>
  </tr>`;
}

function Together({ together, set }) {
  const { fill_seconds: fill = null, countdown_seconds: countdown = 3, onlookers = true } = together;
  const number = (event) => (event.target.value === "" ? null : Number(event.target.value));
  return html`<fieldset>
    <legend>Together</legend>
    <div class="grid halves">
      <label>Programs take empty seats after <span class="muted">(seconds)</span>
        <input type="number" min="0" max="3600" placeholder="never" value=${fill ?? ""} onInput=${(event) => set({ fill_seconds: number(event) })} /></label>
      <label>Countdown <span class="muted">(seconds)</span>
        <input type="number" min="0" max="60" required value=${countdown} onInput=${(event) => set({ countdown_seconds: number(event) ?? 0 })} /></label>
      ${DECIDED.map(([name, title]) => html`<label>${title}
        <select onChange=${(event) => set({ [name]: event.target.value })}>
          ${WHOSE.map(([value, text]) => html`<option value=${value} selected=${(together[name] ?? "one") === value}>${text}</option>`)}
        </select></label>`)}
      <label class="inline"><input type="checkbox" checked=${onlookers} onChange=${(event) => set({ onlookers: event.target.checked })} />
        <span>Reviewers may watch</span></label>
    </div>
  </fieldset>`;
}
