// The replay of one episode: finds it, and says what is wrong where it cannot be shown.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { request } from "../api.js";
import { html } from "../html.js";
import { link } from "../router.js";
import { EpisodeReplay } from "./episode_replay.js";

const GROWS_MS = 1000;

/** @param {{params: URLSearchParams, about: any}} props */
export function ReplayView({ params, about }) {
  const episode = params.get("episode") ?? "";
  const [facts, setFacts] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const latest = useRef(facts);
  latest.current = facts;
  const load = useCallback(async (signal) => {
    try {
      setFacts(await request(`replay/${encodeURIComponent(episode)}`, { signal }));
      setProblem("");
    } catch (error) {
      if (error.name !== "AbortError") setProblem(error.message);
    }
  }, [episode]);
  useEffect(() => {
    const controller = new AbortController();
    setFacts(null);
    setProblem("");
    load(controller.signal);
    return () => controller.abort();
  }, [load]);
  const grow = useGrowth(latest, load);
  if (problem && !facts) {
    return html`<div class="empty" role="alert"><h2>This episode cannot be shown</h2><p>${problem}</p>
      <p class="actions"><a class="button" href=${link("episodes")}>All episodes</a></p></div>`;
  }
  if (!facts || !isSame(facts.id, episode)) return html`<p class="loading" aria-live="polite">Loading the episode…</p>`;
  return html`<${EpisodeReplay} key=${facts.id} facts=${facts} params=${params} about=${about} grow=${grow} />`;
}

/** What to call when the episode is longer: it is requested again, at most once a second. */
function useGrowth(latest, load) {
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback((length, end) => {
    const known = latest.current;
    if (!known || (known.length === length && known.end === end) || timer.current) return;
    timer.current = setTimeout(() => {
      timer.current = 0;
      load();
    }, GROWS_MS);
  }, [load]);
}

/** Ids are written with hyphens or without. */
function isSame(one, other) {
  return one.replaceAll("-", "") === other.replaceAll("-", "").toLowerCase();
}
