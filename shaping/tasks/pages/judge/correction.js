// What should have been done: numbers of actions, or playing on from a step.
import { useEffect, useRef, useState } from "preact/hooks";
import { count } from "../../format.js";
import { html } from "../../html.js";

/** @param {{found: any, query: any, answer: (given: object) => void, isSaving: boolean}} props */
export function Correction({ found, query, answer, isSaving }) {
  const [{ episode, first, stop }] = query.segments;
  const [step, setStep] = useState("1");
  const [actions, setActions] = useState("");
  const [isPlaying, setPlaying] = useState(false);
  const numbers = actions.split(/[\s,]+/).filter(Boolean).map(Number);
  const isStep = Number(step) >= 1 && Number(step) <= stop - first;
  const isReady = isStep && numbers.length > 0 && numbers.every(Number.isFinite);
  const save = (given, played) => answer({ step: Number(step) - 1, actions: given, played });
  if (isPlaying) {
    const place = { dataset: found.dataset, episode, step: String(first + Number(step) - 1) };
    return html`<${Playing} place=${place} from=${step} done=${save} back=${() => setPlaying(false)} />`;
  }
  return html`<div class="row">
    <label class="inline">From step <input class="narrow" type="number" min="1" max=${stop - first} value=${step} onInput=${(event) => setStep(event.target.value)} /></label>
    <button class="primary" disabled=${!isStep} onClick=${() => setPlaying(true)}>Play on from here</button>
    <label class="inline push">or do <input value=${actions} aria-label="Actions" placeholder="2 2 0" onInput=${(event) => setActions(event.target.value)} /></label>
    <button disabled=${isSaving || !isReady} onClick=${() => save(numbers, null)}>Save</button></div>
    <p class="hint">Numbers of actions, one for each step.</p>`;
}

/** @param {{place: Record<string, string>, from: string, done: (actions: number[], played: string) => void, back: () => void}} props */
function Playing({ place, from, done, back }) {
  const [shown, setShown] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const socket = useRef(/** @type {WebSocket | null} */ (null));
  useEffect(() => {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const opened = new WebSocket(`${scheme}://${location.host}/ws/tasks/judge/play?${new URLSearchParams(place)}`);
    opened.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.failed) setProblem(message.failed);
      else if (message.played) done(message.actions, message.played);
      else setShown(message);
    };
    opened.onclose = () => setProblem((before) => before || "The connection is lost.");
    socket.current = opened;
    return () => {
      opened.onclose = null;
      opened.close();
    };
  }, []);
  const send = (message) => socket.current?.send(JSON.stringify(message));
  const act = (action) => send({ do: "act", action });
  useDigits(shown && !shown.is_over ? shown.n_actions : 0, act);
  return html`<div class="stack playing-on">
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${!shown && !problem && html`<p class="loading" role="status">Going to step ${from}…</p>`}
    ${shown && html`<img src=${`data:image/png;base64,${shown.picture}`} alt="The environment" />
      <p class="muted numbers" role="status">${count(shown.done, "step")} played${shown.is_over ? "; it is over" : ""}</p>
      <div class="actions">${Array.from({ length: shown.n_actions }, (_, action) => html`<button class="large" disabled=${shown.is_over}
        onClick=${() => act(action)}><kbd>${action}</kbd> Action ${action}</button>`)}</div>`}
    <div class="actions"><button class="quiet" onClick=${back}>Back</button>
      <button class="primary" disabled=${!shown?.done} onClick=${() => send({ do: "done" })}>Save</button></div>
  </div>`;
}

/** Digits do actions. @param {number} count @param {(action: number) => void} act */
function useDigits(count, act) {
  useEffect(() => {
    const down = (event) => {
      const isField = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
      const action = /^[0-9]$/.test(event.key) ? Number(event.key) : count;
      if (isField || event.ctrlKey || event.metaKey || event.altKey || action >= count) return;
      event.preventDefault();
      act(action);
    };
    addEventListener("keydown", down);
    return () => removeEventListener("keydown", down);
  });
}
