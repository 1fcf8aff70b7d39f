// The link that people open to play in a study.
import { link } from "../router.js";

/** @param {string} study id */
export function permalink(study) {
  return `${location.origin}/${link("study", { id: study })}`;
}
