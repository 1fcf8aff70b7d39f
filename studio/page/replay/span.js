// A span of steps that a person chooses, to annotate all of them.
import { useCallback, useState } from "preact/hooks";

/**
 * @typedef {object} Span
 * @property {[number, number] | null} chosen first, and the one after the last
 * @property {() => void} begin at the step that is shown
 * @property {() => void} end at the step that is shown
 * @property {() => void} clear
 * @property {(span: [number, number] | null) => void} choose
 */

/** @param {number} step that is shown @returns {Span} */
export function useSpan(step) {
  const [chosen, choose] = useState(/** @type {[number, number] | null} */ (null));
  const begin = useCallback(() => choose((was) => [step, Math.max(was?.[1] ?? 0, step + 1)]), [step]);
  const end = useCallback(() => choose((was) => [Math.min(was?.[0] ?? step, step), step + 1]), [step]);
  const clear = useCallback(() => choose(null), []);
  return { chosen, begin, end, clear, choose };
}
