// When a step is done, as the server names it.

export const TURNS = [
  { name: "clock", title: "In real time", says: "The environment goes on at a fixed rate, whatever the person does (asynchronous).", hasRate: true },
  { name: "press", title: "Step by step", says: "A step for every key that is pressed; holding it does nothing more (synchronous).", hasRate: false },
  { name: "hold", title: "While held", says: "Steps at a fixed rate while a key is held; time stands still otherwise.", hasRate: true },
  { name: "release", title: "Press and release", says: "One step a press; the next when all keys were released.", hasRate: false },
];

/** @param {string} name */
export function turnOf(name) {
  return TURNS.find((each) => each.name === name) ?? TURNS[0];
}
