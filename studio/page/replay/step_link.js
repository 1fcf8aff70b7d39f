// The link of the page says which step is shown; a link that is opened goes there.
import { useLayoutEffect, useRef } from "preact/hooks";
import { link, replace } from "../router.js";

const WAIT_MS = 200; // browsers allow a page to change its link only so often

/** @param {string} episode @param {URLSearchParams} params @param {import("./playback.js").Playback} playback */
export function useStepLink(episode, params, { step, go }) {
  const opened = useRef(params);
  useLayoutEffect(() => {
    if (opened.current === params) return;
    opened.current = params;
    go(Number(params.get("step")));
  }, [params]);
  useLayoutEffect(() => {
    const timer = setTimeout(() => replace(link("replay", { episode, step })), WAIT_MS);
    return () => clearTimeout(timer);
  }, [episode, step]);
}
