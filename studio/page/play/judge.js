// Rewards that people give beside those of the environment, for the step that they see.
import { useState } from "preact/hooks";
import { short } from "../format.js";
import { html } from "../html.js";

const UNDER_WAY = new Set(["running", "paused", "confirming"]);

/** @param {{player: import("./player.js").Player}} props */
export function Judge({ player }) {
  const [text, setText] = useState("");
  const { judged, state, link } = player.known;
  const isPossible = link === "open" && UNDER_WAY.has(state?.phase);
  const give = (value) => player.ask("reward", { value, step: player.shown.step, episode: state.episode });
  const giveText = (event) => {
    event.preventDefault();
    give(Number(text));
  };
  return html`
    <section class="card judge" aria-label="Reward">
      <h2>Reward</h2>
      <p class="hint">For the step that you see. It is recorded beside the environment's own.</p>
      <div class="row">
        <button disabled=${!isPossible} aria-label="Give -1" onClick=${() => give(-1)}>−1</button>
        <button disabled=${!isPossible} aria-label="Give +1" onClick=${() => give(1)}>+1</button>
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
