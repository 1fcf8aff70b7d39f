// Says in toasts what happens beside the picture.
import { html } from "../html.js";
import { count, short } from "../format.js";
import { toast } from "../parts/toasts.js";
import { link } from "../router.js";
import { isParticipating } from "../shell/views.js";

const HARMLESS = new Set(["ended", "displaced"]); // the overlay says these

/** @param {import("./player.js").Player} player @returns {() => void} stops it */
export function announce(player) {
  const show = ({ detail }) => {
    if (detail.type === "saved" && detail.is_kept) toast(savedText(detail), detail.status === "abandoned" ? "warning" : "success");
    if (detail.type === "notice" && !HARMLESS.has(detail.code)) toast(detail.message, "warning");
    if (detail.type === "error" && player.known.welcome && !isTooLate(detail)) toast(detail.message, "error");
    if (detail.type === "gamepad") toast(detail.name ? `Gamepad: ${detail.name}` : "The gamepad is gone.");
  };
  player.addEventListener("message", show);
  return () => player.removeEventListener("message", show);
}

/** What crossed a change on its way: one paused, and the game was over already. */
function isTooLate({ code, where }) {
  return code === "refused" && ["keys", "pause", "cancel"].includes(where);
}

function savedText({ episode, id, status, steps, totals }) {
  const total = Object.values(totals)[0] ?? 0;
  return html`Episode ${episode + 1} is recorded as <strong>${status}</strong>: ${count(steps, "step")}, return ${short(total)}.
    ${id && !isParticipating() && html` <a href=${link("replay", { episode: id })}>Replay</a>`}`;
}
