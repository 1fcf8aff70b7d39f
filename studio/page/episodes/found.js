// The episodes that the table shows, requested again from time to time: others record and tag.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { request } from "../api.js";

const AGAIN_MS = 10_000;

/** @param {import("./listing.js").Listing} listing @param {Record<string, string>} query */
export function useFound(listing, query) {
  const [found, setFound] = useState(/** @type {import("./listing.js").Found | null} */ (null));
  const [known, setKnown] = useState({ tags: [], studies: [], users: [] });
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [round, setRound] = useState(0);
  const shown = useRef(""); // while it is requested again, the same is shown as before until the answer comes
  const reload = useCallback(() => setRound((before) => before + 1), []);
  const parameters = listing.parameters({ ...query, sort: query.sort || listing.sort });
  useEffect(() => {
    const controller = new AbortController();
    listing.known(controller.signal).then((more) => setKnown((before) => ({ ...before, ...more })), () => {});
    return () => controller.abort();
  }, [listing]);
  useEffect(() => {
    const controller = new AbortController();
    setBusy(shown.current !== parameters);
    request(`episodes?${parameters}`, { signal: controller.signal }).then(
      (answer) => {
        const page = listing.found(answer);
        setFound(page);
        setKnown((before) => ({ ...before, tags: merged(before.tags, page.tags), users: merged(before.users, usersOf(page)) }));
        shown.current = parameters;
        setProblem("");
        setBusy(false);
      },
      (error) => {
        if (error.name === "AbortError") return;
        setProblem(error.message);
        setBusy(false);
      },
    );
    return () => controller.abort();
  }, [listing, parameters, round]);
  useEffect(() => {
    const again = () => document.visibilityState === "visible" && reload();
    const timer = setInterval(again, AGAIN_MS);
    document.addEventListener("visibilitychange", again);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", again);
    };
  }, [reload]);
  return { found, known, problem, isBusy, reload };
}

function usersOf({ rows }) {
  return rows.map((row) => row.user).filter((user) => user && user !== "me");
}

function merged(before, more) {
  return [...new Set([...before, ...more])].sort();
}
