// The return up to a step.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";

/**
 * Known from the profile; of a long episode, which has only some steps in it, it is requested.
 * @param {any} facts @param {number} step @returns {number | null} of all rewards together
 */
export function useSum(facts, step) {
  const profile = facts.profile ?? { steps: [], series: [] };
  const at = profile.steps.findLastIndex((each) => each <= step);
  const isThere = !facts.profile || profile.steps[at] === step;
  const [answer, setAnswer] = useState(/** @type {{step: number, sum: number} | null} */ (null));
  useEffect(() => {
    if (isThere) return undefined;
    const controller = new AbortController();
    const query = `first=${step}&end=${step + 1}`;
    request(`replay/${facts.id}/profile?${query}`, { signal: controller.signal }).then(
      (found) => setAnswer({ step, sum: total(found.series, 0) }),
      () => {}, // it stays a dash
    );
    return () => controller.abort();
  }, [facts.id, step, isThere]);
  if (!facts.profile) return null;
  if (isThere) return total(profile.series, at);
  return answer?.step === step ? answer.sum : null;
}

function total(series, at) {
  return series.reduce((sum, { sums }) => sum + Number(sums[at]), 0);
}
