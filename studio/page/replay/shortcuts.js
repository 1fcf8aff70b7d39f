// Every key of the replay in one table: what handles keys and what explains them read the same.
import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * @typedef {object} Shortcut
 * @property {string[]} keys as KeyboardEvent.key, "Shift+" before it where Shift is held
 * @property {string} does
 * @property {string} group
 * @property {(actions: Actions, key: string) => void} act
 */

/**
 * @typedef {object} Actions
 * @property {(by: number) => void} move
 * @property {(step: number) => void} go
 * @property {() => void} toLast
 * @property {() => void} toggle
 * @property {(by: 1 | -1) => void} changeRate
 * @property {(by: 1 | -1) => void} toEvent
 * @property {(by: 1 | -1) => void} toEpisode
 * @property {() => void} nextPicture
 * @property {() => void} spanStart
 * @property {() => void} spanEnd
 * @property {() => void} spanClear
 * @property {(number: number) => void} quickTag
 * @property {(value: number) => void} reward
 * @property {() => void} undo
 * @property {(id: string) => void} focus
 * @property {() => void} help
 */

/** @type {Shortcut[]} */
export const SHORTCUTS = [
  { group: "Move", keys: ["ArrowRight"], does: "next step", act: (to) => to.move(1) },
  { group: "Move", keys: ["ArrowLeft"], does: "step before", act: (to) => to.move(-1) },
  { group: "Move", keys: ["Shift+ArrowRight"], does: "10 steps on", act: (to) => to.move(10) },
  { group: "Move", keys: ["Shift+ArrowLeft"], does: "10 steps back", act: (to) => to.move(-10) },
  { group: "Move", keys: ["Home"], does: "first step", act: (to) => to.go(0) },
  { group: "Move", keys: ["End"], does: "last step", act: (to) => to.toLast() },
  { group: "Move", keys: ["."], does: "next reward or tag", act: (to) => to.toEvent(1) },
  { group: "Move", keys: [","], does: "reward or tag before", act: (to) => to.toEvent(-1) },
  { group: "Play", keys: [" "], does: "play, stop", act: (to) => to.toggle() },
  { group: "Play", keys: ["ArrowUp"], does: "faster", act: (to) => to.changeRate(1) },
  { group: "Play", keys: ["ArrowDown"], does: "slower", act: (to) => to.changeRate(-1) },
  { group: "Play", keys: ["c"], does: "next picture", act: (to) => to.nextPicture() },
  { group: "Tag", keys: ["1", "2", "3", "4", "5", "6", "7", "8", "9"], does: "add or take off the tag of that number",
    act: (to, key) => to.quickTag(Number(key) - 1) },
  { group: "Tag", keys: ["t"], does: "write a tag of this step or span", act: (to) => to.focus("step-tag") },
  { group: "Tag", keys: ["e"], does: "write a tag of the episode", act: (to) => to.focus("episode-tag") },
  { group: "Tag", keys: ["n"], does: "write a note", act: (to) => to.focus("note") },
  { group: "Tag", keys: ["["], does: "a span begins here", act: (to) => to.spanStart() },
  { group: "Tag", keys: ["]"], does: "it ends here", act: (to) => to.spanEnd() },
  { group: "Tag", keys: ["Escape"], does: "no span", act: (to) => to.spanClear() },
  { group: "Tag", keys: ["+", "Shift++"], does: "reward +1", act: (to) => to.reward(1) },
  { group: "Tag", keys: ["-"], does: "reward −1", act: (to) => to.reward(-1) },
  { group: "Tag", keys: ["u"], does: "take back what you added last", act: (to) => to.undo() },
  { group: "Episodes", keys: ["j"], does: "next episode", act: (to) => to.toEpisode(1) },
  { group: "Episodes", keys: ["k"], does: "episode before", act: (to) => to.toEpisode(-1) },
  { group: "Episodes", keys: ["?", "Shift+?"], does: "these keys", act: (to) => to.help() },
];

const BY_KEY = new Map(SHORTCUTS.flatMap((each) => each.keys.map((key) => [key, each])));
const WRITING = "input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]";
const PRESSED = "button, a[href], summary, [role=button]";

/** Does what keys mean, unless a person writes or a dialog is open. @param {Actions} actions */
export function useShortcuts(actions) {
  const latest = useRef(actions);
  latest.current = actions;
  // From when the page is seen until it is gone; other effects begin and end later, and keys are pressed between.
  useLayoutEffect(() => {
    const press = (event) => {
      const shortcut = shortcutOf(event);
      if (!shortcut) return;
      event.preventDefault();
      shortcut.act(latest.current, event.key);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

/** @param {KeyboardEvent} event @returns {Shortcut | undefined} */
function shortcutOf(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return undefined;
  const at = /** @type {HTMLElement} */ (event.target);
  if (at.closest?.(WRITING)) {
    if (event.key === "Escape") at.blur();
    return undefined;
  }
  if (document.querySelector("dialog[open]")) return undefined;
  if (event.key === " " && at.closest?.(PRESSED)) return undefined;
  return BY_KEY.get(event.shiftKey ? `Shift+${event.key}` : event.key);
}
