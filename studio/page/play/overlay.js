// What stands over the picture before, between and after episodes: start, pause, waiting, and what went wrong.
import { useEffect, useState } from "preact/hooks";
import { html } from "../html.js";

/** @param {{player: import("./player.js").Player, again: () => void, rejoin: () => void, leave: () => void}} props */
export function Overlay({ player, again, rejoin, leave }) {
  const { known } = player;
  const { link, state, reason } = known;
  if (link === "refused" || link === "ended" || link === "left") {
    return html`<${Card} title=${link === "refused" ? "You cannot come in" : "The session is over"} text=${reason}>
      ${player.isSeated || link === "refused" ? html`<button class="primary large" onClick=${again}>New session</button>` : null}
      <button class="large" onClick=${leave}>Back</button>
    <//>`;
  }
  if (link === "displaced") {
    return html`<${Card} title="You play in another window" text="The episode goes on there.">
      <button class="primary large" onClick=${rejoin}>Play here</button>
    <//>`;
  }
  if (link === "lost") {
    return html`<${Card} title="The connection is lost" text="Trying again… Your episode waits for you for a while." isBusy />`;
  }
  if (link === "connecting" || !state) return html`<${Card} title="Getting ready…" isBusy />`;
  if (!player.isSeated) return html`<${ForObserver} state=${state} />`;
  return html`<${ForPlayer} player=${player} state=${state} last=${known.saved[0]} />`;
}

function ForPlayer({ player, state, last }) {
  const { welcome } = player.known;
  switch (state.phase) {
    case "initializing":
      return html`<${Card} title="Preparing the episode…" isBusy />`;
    case "waiting": {
      const isNext = last !== undefined;
      if (player.started === state.episode) return html`<${Card} title="Waiting for the others" text=${state.reason} isBusy />`;
      const text = welcome.turn === "clock" ? "Time runs as soon as you start." : "Each step waits for you.";
      return html`<${Card} title=${isNext ? "Ready for the next one?" : "Ready?"} text=${text}>
        <${FocusedButton} onClick=${() => player.start()}>${isNext ? `Start episode ${state.episode + 1}` : "Start"}<//>
      <//>`;
    }
    case "countdown":
      return html`<${Countdown} key=${state.episode} seconds=${state.seconds ?? 0} />`;
    case "paused":
      return html`<${Card} title="Paused" text=${pauseText(state.reason, welcome.seat)}>
        <${FocusedButton} onClick=${() => player.send("resume")}>Continue<//>
      <//>`;
    case "ending":
    case "ended":
      return html`<${Card} title="Writing it down…" isBusy />`;
    default:
      return null;
  }
}

function ForObserver({ state }) {
  const shown = { waiting: "Waiting for the player to start", paused: "Paused", confirming: "The player decides what to do with the episode" };
  return shown[state.phase] ? html`<${Card} title=${shown[state.phase]} text=${state.reason} />` : null;
}

/** @param {string} reason of the server @param {string} seat one's own */
function pauseText(reason, seat) {
  if (!reason || reason === `${seat} paused`) return "Time stands still; nothing is recorded.";
  const shown = reason.replace(`the connection of ${seat}`, "your connection");
  return `${shown[0].toUpperCase()}${shown.slice(1)}.`;
}

function Countdown({ seconds }) {
  const [left, setLeft] = useState(Math.ceil(seconds));
  useEffect(() => {
    const timer = setInterval(() => setLeft((now) => Math.max(0, now - 1)), 1000);
    return () => clearInterval(timer);
  }, []);
  return html`<div class="overlay clear"><p class="countdown" role="timer">${left}</p></div>`;
}

function Card({ title, text = "", isBusy = false, children = null }) {
  return html`
    <div class="overlay">
      <div class="overlay-card" role=${children ? "group" : "status"} aria-label=${title}>
        ${isBusy && html`<span class="spinner" aria-hidden="true"></span>`}
        <h2>${title}</h2>
        ${text && html`<p>${text}</p>`}
        ${children && html`<div class="actions">${children}</div>`}
      </div>
    </div>
  `;
}

/** What one most likely wants next: Enter or space does it. */
function FocusedButton({ onClick, children }) {
  const focus = (element) => element?.focus({ preventScroll: true });
  const [place] = useState(() => focus);
  return html`<button class="primary large" ref=${place} onClick=${onClick}>${children}</button>`;
}
