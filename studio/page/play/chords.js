// Which action keys stand for, as `rlds_kit.trials.engine.keymap.Chords` has it: the server decides, this only foresees it.

const HALF = 0.5; // from which on a stick or a trigger counts as a key
const ALSO = {
  KeyW: "ArrowUp", KeyA: "ArrowLeft", KeyS: "ArrowDown", KeyD: "ArrowRight",
  Button12: "ArrowUp", Button13: "ArrowDown", Button14: "ArrowLeft", Button15: "ArrowRight", Button0: "Space", Button1: "Enter",
  "Axis0-": "ArrowLeft", "Axis0+": "ArrowRight", "Axis1-": "ArrowUp", "Axis1+": "ArrowDown",
};

/** The keys that are down, in the order in which they went down. @param {Record<string, number>} held */
function digital(held) {
  const down = new Set();
  for (const [name, value] of Object.entries(held)) {
    const key = name.startsWith("Axis") ? `${name}${value < 0 ? "-" : "+"}` : name;
    if (Math.abs(value) >= HALF) down.add(ALSO[key] ?? key);
  }
  return [...down];
}

/**
 * The action of the largest chord that is down, of several that whose keys went down last; null: there is none.
 * @param {Record<string, number>} held with their analog values, in the order in which they went down
 * @param {{keys: string[], action: number}[]} chords
 * @returns {number | null}
 */
export function actionOf(held, chords) {
  const place = new Map(digital(held).map((key, number) => [key, number]));
  let best = null;
  for (const { keys, action } of chords) {
    if (keys.length === 0 || !keys.every((key) => place.has(key))) continue;
    const rank = [keys.length, ...keys.map((key) => place.get(key)).sort((one, other) => other - one)];
    if (best === null || isAbove(rank, best.rank)) best = { rank, action };
  }
  return best?.action ?? null;
}

/** Whether the first number that differs is larger. @param {number[]} rank @param {number[]} other */
function isAbove(rank, other) {
  const at = rank.findIndex((value, number) => value !== other[number]);
  return at >= 0 && rank[at] > other[at];
}
