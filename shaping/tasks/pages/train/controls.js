// Start and pause, how fast, and on to the next stage.
import { html } from "../../html.js";

const SLOWEST_MS = 6000;
const POSITIONS = 100;

/** @param {{state: any, send: (message: object) => void}} props */
export function Controls({ state, send }) {
  const { is_paused: isPaused, step_ms: stepMs, stage, counters } = state;
  const isBegun = counters.total > 0;
  const speed = (event) => send({ do: "speed", step_ms: milliseconds(Number(event.target.value)) });
  return html`<div class="control-bar">
    <button class=${isPaused ? "primary" : ""} onClick=${() => send({ do: isPaused ? "resume" : "pause" })}>
      ${isPaused ? (isBegun ? "Go on" : "Start") : "Pause"}</button>
    <label class="inline speed-slider">Speed
      <input type="range" min="0" max=${POSITIONS} value=${position(stepMs)} onInput=${speed} aria-valuetext=${`${stepMs} ms a step`} />
      <output class="numbers">${stepMs} ms a step</output></label>
    <span class="actions push">
      ${stage.kind !== "training" || stage.n_games === null
        ? html`<button class="quiet" onClick=${() => send({ do: "again" })}>Begin again</button>`
        : null}
      <button onClick=${() => send({ do: "next" })}>${stage.kind === "training" ? "Done with this stage" : "Next stage"}</button>
    </span>
  </div>`;
}

/** To the right is faster: full speed at the end; steps of a slider that feel even. @param {number} place */
function milliseconds(place) {
  return Math.round(SLOWEST_MS * ((POSITIONS - place) / POSITIONS) ** 3);
}

/** @param {number} stepMs */
function position(stepMs) {
  return Math.round(POSITIONS * (1 - Math.cbrt(Math.min(stepMs, SLOWEST_MS) / SLOWEST_MS)));
}
