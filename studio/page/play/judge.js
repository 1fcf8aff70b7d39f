// Rewards that people give beside those of the environment, for the step that they see.
import { useState } from "preact/hooks";
import { short } from "../format.js";
import { html } from "../html.js";
import { JUDGED } from "./commands.js";
import { keyName } from "./key_names.js";

/** @param {{player: import("./player.js").Player}} props */
export function Judge({ player }) {
  const [text, setText] = useState("");
  const { judged } = player.known;
  const isPossible = player.canJudge;
  const giveText = (event) => {
    event.preventDefault();
    player.judge(Number(text), "keyboard");
  };
  return html`
    <section class="card judge" aria-label="Reward">
      <h2>Reward</h2>
      <p class="hint">For the step that you see. It is recorded beside the environment's own.</p>
      <div class="row">
        ${JUDGED.map(({ codes, value }) => html`<button disabled=${!isPossible} aria-label=${`Give ${value < 0 ? value : `+${value}`}`}
          onClick=${(event) => player.judge(value, event.detail === 0 ? "keyboard" : "pointer")}>${value < 0 ? "−1" : "+1"}
          ${" "}<kbd>${keyName(codes[0])}</kbd> <kbd>${keyName(codes[2])}</kbd></button>`)}
        <form class="row" onSubmit=${giveText}>
          <input type="number" step="any" required aria-label="Value" class="number" value=${text}
            onInput=${(event) => setText(event.target.value)} />
          <button disabled=${!isPossible}>Give</button>
        </form>
      </div>
      <p class="small muted" role="status">${judged && `Step ${judged.step}: ${short(judged.value)}, on average ${short(judged.aggregate)}`}</p>
    </section>
  `;
}
