// When steps are done, how fast, and how many at most.
import { html } from "../html.js";
import { turnOf, TURNS } from "./turns.js";

/** @param {{environment: any, set: (changes: any) => void}} props */
export function PaceEditor({ environment, set }) {
  const { key, turn, fps, max_steps: most } = environment;
  const isFixed = !turnOf(turn).hasRate;
  const setFps = (event) => event.target.value && set({ fps: Number(event.target.value) });
  return html`
    <fieldset>
      <legend>When a step is done</legend>
      <div class="choices">
        ${TURNS.map(
          ({ name, title, says }) => html`<label>
            <input type="radio" name=${`turn-${key}`} value=${name} checked=${turn === name} onChange=${() => set({ turn: name })} />
            <span>${title}</span><span class="hint">${says}</span>
          </label>`,
        )}
      </div>
    </fieldset>
    <div class="grid halves">
      <label>Steps a second
        <span class="row slider">
          <input type="range" min="1" max="60" value=${fps} disabled=${isFixed} aria-label="Steps a second, slider" onInput=${setFps} />
          <input type="number" class="narrow" min="1" max="60" step="any" required aria-label="Steps a second" value=${fps} disabled=${isFixed} onInput=${setFps} />
        </span>
        ${isFixed && html`<span class="hint">The person sets the pace.</span>`}
      </label>
      <label>Steps at most
        <input type="number" min="1" max="2147483647" step="1" placeholder="as many as the environment allows" value=${most ?? ""}
          onInput=${(event) => set({ max_steps: event.target.value === "" ? null : Number(event.target.value) })} />
      </label>
    </div>
  `;
}
