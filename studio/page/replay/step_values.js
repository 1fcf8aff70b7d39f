// The values of the step that is shown, and which of its pictures are.
import { useEffect, useMemo, useState } from "preact/hooks";
import { firstShown, picturesIn } from "./pictures.js";

/** Until a step is loaded the one before it stays, so that nothing flickers. */
export function useStep(steps, step, length) {
  const [values, setValues] = useState(steps.get(step) ?? null);
  const [problem, setProblem] = useState("");
  const [shown, setShown] = useState(/** @type {import("./pictures.js").Picture[] | null} */ (null));
  const now = steps.get(step);
  useEffect(() => {
    let isWanted = true;
    if (length === 0) return undefined;
    steps.load(step).then(
      (found) => {
        if (!isWanted) return;
        setValues(found);
        setProblem("");
      },
      (error) => isWanted && setProblem(error.message),
    );
    return () => {
      isWanted = false;
    };
  }, [steps, step, length]);
  const there = now ?? values;
  const hasStep = there !== null;
  const first = useMemo(() => (there ? firstShown(picturesIn(there)) : []), [hasStep]);
  const chosen = shown ?? first;
  return { values: there, problem, shown: chosen, show: setShown };
}
