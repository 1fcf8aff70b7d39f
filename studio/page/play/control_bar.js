// Pause, speed, quality, camera, full screen.
import { useRef, useState } from "preact/hooks";
import { html } from "../html.js";
import { keyName } from "./key_names.js";

const QUALITIES = ["low", "medium", "high", "exact"];
const ICONS = {
  pause: "M8 5v14M16 5v14",
  full: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
};

/**
 * @param {{player: import("./player.js").Player, commands: import("./commands.js").Command[], focusStage: () => void}} props
 */
export function ControlBar({ player, commands, focusStage }) {
  const byPointer = useRef(false);
  const { welcome, state, link } = player.known;
  if (!welcome) return html`<div class="control-bar"></div>`;
  // After a click the keys act again; who came here by the keyboard stays.
  const done = () => byPointer.current && focusStage();
  const hint = (title) => {
    const command = commands.find((each) => each.title === title);
    return command ? `${title} (${command.codes.map(keyName).join(" or ")})` : title;
  };
  const isPaused = state?.phase === "paused";
  const isUnderWay = link === "open" && ["running", "paused"].includes(state?.phase);
  const full = () => commands.find(({ title }) => title === "Full screen")?.run("");
  return html`
    <div class="control-bar" role="toolbar" aria-label="Controls" onPointerDown=${() => (byPointer.current = true)}
      onKeyDown=${() => (byPointer.current = false)} onChange=${done} onClick=${(event) => event.target.closest("button") && done()}>
      ${player.isSeated && html`
        <button disabled=${!isUnderWay || isPaused || welcome.rules.pause === "nobody"} title=${hint("Pause, and go on")} onClick=${() => player.send("pause")}>
          <${Icon} name="pause" />Pause</button>
        <button disabled=${!isUnderWay || welcome.rules.cancel === "nobody"} title=${hint("End the episode")} onClick=${() => player.send("cancel")}>End episode</button>
        ${welcome.rules.rate !== "nobody" && html`<${Rate} player=${player} />`}
        ${programOf(welcome) && welcome.rules.rate !== "nobody" && html`<${HandOver} player=${player} isUnderWay=${isUnderWay} program=${programOf(welcome)} />`}
        <label class="inline">Quality
          <select onChange=${(event) => player.send("quality", { level: event.target.value })}>
            ${QUALITIES.map((each) => html`<option value=${each} selected=${each === welcome.quality}>${each}</option>`)}
          </select></label>
        ${welcome.cameras.length > 1 && html`<label class="inline">Camera
          <select onChange=${(event) => player.send("camera", { n: Number(event.target.value) })}>
            ${welcome.cameras.map((name, number) => html`<option value=${number} selected=${number === welcome.camera}>${number + 1}: ${name}</option>`)}
          </select></label>`}`}
      <button class="push icon-only" aria-label="Full screen" title=${hint("Full screen")} onClick=${full}><${Icon} name="full" /></button>
    </div>
  `;
}

/** What one can hand over to: a policy beside the environment, or the program of the seat. */
function programOf({ seat, policies, actors }) {
  if (policies.includes(seat)) return "policy";
  return actors.includes(seat) ? "actor" : null;
}

/** A program acts, and the person again. */
function HandOver({ player, isUnderWay, program }) {
  const isAway = player.driver !== "human";
  return html`<button disabled=${!isUnderWay} aria-pressed=${isAway} onClick=${() => player.send("drive", { driver: isAway ? "human" : program })}>
    ${isAway ? "Take over" : "Hand over"}</button>`;
}

function Rate({ player }) {
  const { welcome, state } = player.known;
  const [dragged, setDragged] = useState(/** @type {number | null} */ (null));
  const fps = dragged ?? state?.fps ?? welcome.fps;
  const isFixed = !["clock", "hold"].includes(welcome.turn);
  const send = (event) => {
    setDragged(null);
    player.send("rate", { fps: Number(event.target.value) });
  };
  return html`<label class="inline speed-slider" title=${isFixed ? "You set the pace, step by step" : ""}>Speed
    <input type="range" min="1" max="60" step="1" value=${fps} disabled=${isFixed} aria-valuetext=${`${fps} steps a second`}
      onInput=${(event) => setDragged(Number(event.target.value))} onChange=${send} />
    <output class="numbers">${isFixed ? "by step" : `${Number(fps.toFixed(1))} fps`}</output></label>`;
}

function Icon({ name }) {
  return html`<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"
    stroke-linejoin="round" aria-hidden="true"><path d=${ICONS[name]} /></svg>`;
}
