// Which step is shown, and playing from step to step.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

const SCREEN_RATE = 60;
const AHEAD = 12;
const MOST_MS = 250; // after a tab was in the background, nothing is caught up

/**
 * @typedef {object} Playback
 * @property {number} step
 * @property {(step: number) => void} go
 * @property {boolean} isPlaying
 * @property {() => void} toggle
 * @property {number} rate steps a second
 * @property {(rate: number) => void} setRate
 */

/**
 * @param {import("./steps.js").Steps} steps
 * @param {number} length of the episode
 * @param {number} recorded steps a second
 * @param {number} first step to show
 * @returns {Playback}
 */
export function usePlayback(steps, length, recorded, first) {
  const last = Math.max(length - 1, 0);
  const [step, setStep] = useState(within(first, last));
  const [isPlaying, setPlaying] = useState(false);
  const [rate, setRate] = useState(recorded <= SCREEN_RATE ? recorded : SCREEN_RATE / 2);
  const now = useRef(step);
  const go = useCallback((wanted) => {
    now.current = within(wanted, last);
    setStep(now.current);
  }, [last]);
  const toggle = useCallback(() => {
    if (!isPlaying && now.current >= last) go(0); // at the end it begins again
    setPlaying(!isPlaying && last > 0);
  }, [go, last, isPlaying]);
  useEffect(() => {
    if (!isPlaying) return undefined;
    return everyFrame(ticker(steps, now, last, rate, go, () => setPlaying(false)));
  }, [steps, isPlaying, last, rate, go]);
  return { step, go, isPlaying, toggle, rate, setRate };
}

/**
 * Loads the steps that come next, and those just before.
 * @param {import("./steps.js").Steps} steps @param {Playback} playback @param {number} length
 * @param {import("./pictures.js").Picture[] | null} shown pictures, which are loaded with them; null: nothing is shown yet
 */
export function useAhead(steps, { step, isPlaying, rate }, length, shown) {
  useEffect(() => {
    if (!shown) return; // what is shown comes first
    const stride = isPlaying ? Math.max(1, Math.round(rate / SCREEN_RATE)) : 1;
    const next = Array.from({ length: AHEAD }, (_, index) => step + (index + 1) * stride);
    const near = isPlaying ? next : [...next.slice(0, AHEAD / 2), step - 1, step - 2];
    steps.ahead(near.filter((each) => each >= 0 && each < length), shown);
  }, [steps, step, isPlaying, rate, length, shown]);
}

/** Goes on by the clock, to steps that are loaded; where none is, the clock waits, and nothing is caught up. */
function ticker(steps, now, last, rate, go, stop) {
  let due = 0;
  return (passed) => {
    due += (Math.min(passed, MOST_MS) * rate) / 1000;
    const wanted = Math.min(now.current + Math.floor(due), last);
    if (wanted === now.current) return;
    const next = latestReady(steps, now.current, wanted);
    if (next === now.current) {
      steps.ahead([next + 1]);
      due = 1;
      return;
    }
    due = Math.min(due - (next - now.current), 1);
    go(next);
    if (next === last) stop();
  };
}

function latestReady(steps, from, to) {
  let step = to;
  while (step > from && !steps.isReady(step)) step -= 1;
  return step;
}

function everyFrame(call) {
  let before = performance.now();
  let requested = requestAnimationFrame(function next(time) {
    call(Math.max(0, time - before));
    before = time;
    requested = requestAnimationFrame(next);
  });
  return () => cancelAnimationFrame(requested);
}

function within(step, last) {
  return Math.min(Math.max(Math.round(step) || 0, 0), last);
}
