// Episode, step, reward, return; and how good the connection is.
import { useEffect, useState } from "preact/hooks";
import { short } from "../format.js";
import { html } from "../html.js";
import { useEventOf } from "./use_player.js";

const LINKS = {
  connecting: ["Connecting…", "warning"],
  open: ["Connected", "success"],
  lost: ["Connection lost", "danger"],
  left: ["Left", ""],
  ended: ["Over", ""],
  displaced: ["In another window", "warning"],
  refused: ["Not admitted", "danger"],
};
const SPEED_MS = 500;
const COSTS =
  "A key takes the round trip to the server, and at most one frame. Where every step is a key, the next pictures may be here already.";

/** @param {{player: import("./player.js").Player}} props */
export function StatusLine({ player }) {
  useEventOf(player, "paint");
  const { known, shown } = player;
  const [text, kind] = LINKS[known.link] ?? LINKS.connecting;
  return html`
    <div class="status-line numbers">
      <dl>
        <div><dt>Episode</dt><dd>${known.state ? known.state.episode + 1 : "–"}</dd></div>
        <div><dt>Step</dt><dd>${shown.step.toLocaleString("en")}</dd></div>
        <div><dt>Reward</dt><dd>${short(shown.reward)}</dd></div>
        <div><dt>Return</dt><dd>${short(shown.total)}</dd></div>
      </dl>
      <span class="row">
        ${known.link === "open" && html`<${Speed} player=${player} />`}
        <span class=${`chip ${kind}`} role="status"><span class="dot" aria-hidden="true"></span>${text}</span>
      </span>
    </div>
    ${known.warning && html`<p class="link-warning" role="alert">${known.warning}</p>`}
  `;
}

/** Measured, so that it changes twice a second and not with every picture. */
function Speed({ player }) {
  const [text, setText] = useState("");
  useEffect(() => {
    const look = () => {
      const { rate, answerMs, roundTripMs } = player.measure;
      const parts = [
        answerMs !== null && `key to picture ${answerMs.toFixed(0)} ms`,
        roundTripMs !== null && `round trip ${roundTripMs.toFixed(0)} ms`,
        rate !== null && `${rate.toFixed(0)} fps`,
      ];
      setText(parts.filter(Boolean).join(" · "));
    };
    const timer = setInterval(look, SPEED_MS);
    return () => clearInterval(timer);
  }, [player]);
  return html`<span class="speed small" title=${COSTS}>${text}</span>`;
}
