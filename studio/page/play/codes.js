// Which keys mean something to an environment.

const ARROWS_AS_LETTERS = { ArrowUp: "KeyW", ArrowLeft: "KeyA", ArrowDown: "KeyS", ArrowRight: "KeyD" };

/** @typedef {{chords: {keys: string[], name: string}[], axes: [string, number][][]}} Controls */

/** Of the keyboard. @param {Controls | undefined} controls @returns {Set<string>} */
export function codesOf(controls) {
  const found = new Set(ownCodes(controls));
  for (const [arrow, letter] of Object.entries(ARROWS_AS_LETTERS)) if (found.has(arrow)) found.add(letter);
  return found;
}

/** Those that the environment names itself. @param {Controls | undefined} controls @returns {string[]} */
export function ownCodes(controls) {
  if (!controls) return [];
  const all = [...controls.chords.flatMap(({ keys }) => keys), ...controls.axes.flat().map(([key]) => key)];
  return [...new Set(all)].filter((key) => !/^(Axis|Button)\d/.test(key));
}

/** Whether actions are numbers that a stick sets. @param {Controls | undefined} controls */
export function isAnalog(controls) {
  return (controls?.axes.length ?? 0) > 0;
}
