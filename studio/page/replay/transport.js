// Moves through the episode: slider, buttons, how fast.
import { html } from "../html.js";
import { Icon } from "./icons.js";
import { rates, rateWritten } from "./rates.js";

/** @param {{playback: import("./playback.js").Playback, length: number, recorded: number}} props */
export function Transport({ playback, length, recorded }) {
  const { step, go, isPlaying, toggle, rate, setRate } = playback;
  const last = Math.max(length - 1, 0);
  return html`
    <div class="transport">
      <input type="range" class="steps" min="0" max=${last} step="1" value=${step} aria-label="Step"
        aria-valuetext=${`step ${step} of ${last}`} onInput=${(event) => go(Number(event.target.value))} />
      <div class="transport-row">
        <div class="moves" role="group" aria-label="Move">
          <${Move} icon="first" name="First step (Home)" isOff=${step === 0} onClick=${() => go(0)} />
          <${Move} icon="before" name="Step before (←)" isOff=${step === 0} onClick=${() => go(step - 1)} />
          <button class="play primary icon-only" onClick=${toggle} aria-label=${isPlaying ? "Stop" : "Play"} disabled=${last === 0}
            title=${`${isPlaying ? "Stop" : "Play"} (Space)`}><${Icon} name=${isPlaying ? "pause" : "play"} /></button>
          <${Move} icon="next" name="Next step (→)" isOff=${step === last} onClick=${() => go(step + 1)} />
          <${Move} icon="last" name="Last step (End)" isOff=${step === last} onClick=${() => go(last)} />
        </div>
        <label class="step-number"><span class="unseen">Go to step</span>
          <input type="number" min="0" max=${last} value=${step} aria-label="Go to step"
            onChange=${(event) => go(Number(event.target.value))} /> <span class="muted">of ${last}</span></label>
        <label class="rate"><span class="muted">Speed</span>
          <select value=${rate} onChange=${(event) => setRate(Number(event.target.value))} aria-label="Steps a second">
            ${rates(recorded, rate).map((each) => html`<option value=${each} selected=${each === rate}>
              ${rateWritten(each)}/s${each === recorded ? " usual" : ""}</option>`)}
          </select></label>
      </div>
    </div>
  `;
}

function Move({ icon, name, isOff, onClick }) {
  return html`<button class="quiet icon-only" onClick=${onClick} disabled=${isOff} aria-label=${name} title=${name}><${Icon} name=${icon} /></button>`;
}
