// What a press did: the number that changes shows that it arrived.
import { useEffect, useState } from "preact/hooks";
import { html } from "../../html.js";

const FLASH_MS = 350;

/** @param {{state: any, pressed: any, isActive: boolean, press: (key: string, device: "keyboard" | "button") => void}} props */
export function Feedback({ state, pressed, isActive, press }) {
  const { kind, keys, name } = state.stage;
  const isControl = kind === "control";
  const flashes = useFlash(pressed);
  const did = pressed?.did;
  const about = name.startsWith("practice") || name === "run" ? "for the previous piece" : "for this step";
  return html`<section class=${`card training-feedback ${flashes ? "flash" : ""}`} aria-label="Feedback">
    <div class="row"><h2>${isControl ? "Drive" : "Feedback"}</h2>
      <span class=${`chip push ${isActive ? "success" : "danger"}`} role="status">
        <span class="dot" aria-hidden="true"></span>${isActive ? "keys arrive here" : "keys go elsewhere: click here"}</span></div>
    ${!isControl && html`<p class="training-total numbers">Feedback ${about}: <strong data-total=${did?.total ?? ""} data-number=${did?.number ?? ""}>${did ? signed(did.total) : "–"}</strong></p>`}
    ${pressed && !isControl && !did && html`<p class="hint">This press is about no step: the game is paused, or nothing was shown yet.</p>`}
    <div class="actions">
      ${Object.entries(keys).map(([key, value]) => html`<button class="large" onClick=${() => press(key, "button")} disabled=${state.is_paused}>
        <kbd>${key.toUpperCase()}</kbd> ${isControl ? DIRECTIONS[value] ?? value : Number(value) > 0 ? "Good" : "Bad"}</button>`)}
    </div>
  </section>`;
}

const DIRECTIONS = ["left", "no push", "right"];

/** Whether something was pressed a moment ago. */
function useFlash(pressed) {
  const [flashes, setFlashes] = useState(false);
  useEffect(() => {
    if (!pressed) return undefined;
    setFlashes(true);
    const timer = setTimeout(() => setFlashes(false), FLASH_MS);
    return () => clearTimeout(timer);
  }, [pressed]);
  return flashes;
}

function signed(value) {
  return `${value > 0 ? "+" : ""}${value}`;
}
