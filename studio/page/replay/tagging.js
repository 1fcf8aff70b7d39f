// Tags that a person may give an episode, and the requests that do it.
import { useMemo, useRef } from "preact/hooks";
import { numbered, tagsOver } from "./labels.js";

/**
 * @typedef {object} Tagging
 * @property {boolean} isAllowed
 * @property {[number, number]} over the span, or the step that is shown
 * @property {string[]} quick labels that have a number
 * @property {(annotation: any) => string} signed who said it: "you", where one would not know one's own id
 * @property {(annotation: any) => boolean} mayRemove
 * @property {(id: string) => Promise<boolean>} remove
 * @property {(body: object) => Promise<boolean>} add
 * @property {(text: string) => Promise<boolean>} tagEpisode
 * @property {(text: string) => Promise<boolean>} tagSteps
 * @property {(text: string) => Promise<boolean>} toggle a tag of these steps
 * @property {(value: number) => Promise<boolean>} reward
 * @property {() => Promise<boolean>} undo
 * @property {string} problem why the last of these was refused
 */

const ANONYMOUS = /^([0-9a-f]{32}|\w+ [0-9a-f]{8})$/; // the ids that a studio signs with

/** @returns {Tagging} */
export function useTagging(facts, live, step, span) {
  const { annotations, add, remove, undo, problem } = live;
  const over = useMemo(() => span.chosen ?? [step, step + 1], [span.chosen, step]);
  const before = useRef(/** @type {string[]} */ ([]));
  before.current = numbered(before.current, annotations);
  const isAllowed = facts.can_annotate;
  const signed = ({ source }) => (source === facts.source && ANONYMOUS.test(source) ? "you" : source);
  const mayRemove = (annotation) => isAllowed && (facts.can_retract_all || annotation.source === facts.source);
  const tagSteps = (text) => add({ kind: "tag", text, steps: over });
  const toggle = (label) => {
    const there = tagsOver(annotations, over).find((each) => each.value === label && mayRemove(each) && isExactly(each, over));
    return there ? remove(there.id) : tagSteps(label);
  };
  return {
    isAllowed, signed, over, quick: before.current, mayRemove, remove, add, tagSteps, toggle, undo, problem,
    tagEpisode: (text) => add({ kind: "tag", text }),
    reward: (value) => add({ kind: "reward", value, steps: [over[0], Math.min(over[1], facts.length - 1)] }),
  };
}

function isExactly({ steps }, [first, end]) {
  return steps[0] === first && steps[1] === end;
}
