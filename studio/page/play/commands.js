// What keys do besides acting, as long as the environment does not need them itself.
import { codesOf } from "./codes.js";

const DIGITS = ["Digit1", "Digit2", "Digit3", "Digit4", "Digit5", "Digit6", "Digit7", "Digit8", "Digit9"];

/** Rewards of observers: by places on the keyboard, which are others in other countries, and by letters. */
export const JUDGED = [
  { codes: ["Minus", "NumpadSubtract", "KeyB"], value: -1, title: "Reward −1" },
  { codes: ["Equal", "NumpadAdd", "KeyG"], value: 1, title: "Reward +1" },
];

/** @typedef {{codes: string[], title: string, run: (code: string) => any}} Command `run` returns false if it means nothing now */

/**
 * @param {import("./player.js").Player} player
 * @param {{current: HTMLElement | null}} frame what fills the screen
 * @returns {Command[]}
 */
export function commandsOf(player, frame) {
  const { welcome } = player.known;
  const all = [{ codes: ["KeyF"], title: "Full screen", run: () => toggleFullScreen(frame.current) }];
  if (player.isSeated) {
    all.unshift(
      { codes: ["Escape", "Slash"], title: "Pause, and go on", run: () => when(player, ["running", "paused"], () => player.togglePause()) },
      { codes: ["Enter"], title: "End the episode", run: () => when(player, ["running", "paused"], () => player.send("cancel")) },
    );
    const cameras = DIGITS.slice(0, welcome?.cameras.length ?? 0);
    const choose = (code) => player.send("camera", { n: DIGITS.indexOf(code) });
    if (cameras.length > 1) all.push({ codes: cameras, title: "Cameras", run: choose });
  }
  if (welcome && !player.isSeated) {
    all.unshift(...JUDGED.map(({ codes, value, title }) => ({ codes, title, run: (key) => player.judge(value, "keyboard", key) })));
  }
  const taken = player.isSeated ? codesOf(welcome?.controls) : new Set(); // an observer does not act
  return all
    .map((each) => ({ ...each, codes: each.codes.filter((code) => !taken.has(code)) }))
    .filter(({ codes }) => codes.length > 0);
}

function when(player, phases, run) {
  if (player.known.link !== "open" || !phases.includes(player.phase)) return false;
  run();
  return true;
}

/** @param {HTMLElement | null} element */
export function toggleFullScreen(element) {
  if (document.fullscreenElement) document.exitFullscreen();
  else element?.requestFullscreen?.();
}
