// Tags: which labels there are, which have a number on the keyboard, and their colours.

/** @typedef {import("./live_annotations.js").Annotation} Annotation */

const HUES = 12;
const NUMBERED = 9;
const USUAL = ["success", "failure", "mistake", "interesting"];

/** A colour class that a label always has. @param {string} label */
export function colorOf(label) {
  let hash = 7;
  for (const character of label) hash = (hash * 31 + /** @type {number} */ (character.codePointAt(0))) >>> 0;
  return `label-${hash % HUES}`;
}

/**
 * Labels with a number on the keyboard: those in use, those used before, then usual ones.
 * Each keeps its number while the page is open, so that fingers may rely on it.
 * @param {string[]} before in their order
 * @param {Annotation[]} annotations
 */
export function numbered(before, annotations) {
  const used = annotations.filter((each) => each.kind === "tag").map((each) => each.value);
  return [...new Set([...before, ...used, ...USUAL])].slice(0, NUMBERED);
}

/** Tags of a step, or of all steps of a span. @param {Annotation[]} annotations @param {[number, number]} span */
export function tagsOver(annotations, [first, end]) {
  return annotations.filter((each) => each.kind === "tag" && each.steps && each.steps[0] <= first && each.steps[1] >= end);
}

/** @param {[number, number] | null} steps */
export function written(steps) {
  if (!steps) return "episode";
  return steps[1] - steps[0] === 1 ? `step ${steps[0]}` : `steps ${steps[0]} to ${steps[1] - 1}`;
}

/** Steps where something happens: a reward, or a tag that begins. @param {any} profile or null @param {Annotation[]} annotations */
export function eventsOf(profile, annotations) {
  const { steps, series } = profile ?? { steps: [], series: [] };
  const rewarded = steps.filter((_, index) => series.some(({ rewards }) => rewards[index] !== 0));
  const tagged = annotations.flatMap((each) => (each.steps ? [each.steps[0]] : []));
  return [...new Set([...rewarded, ...tagged])].sort((a, b) => a - b);
}
