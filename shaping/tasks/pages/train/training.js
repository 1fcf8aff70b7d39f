// A training that goes on: the picture, what was pressed, and the stages.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../../html.js";
import { link } from "../../router.js";
import { Connection } from "./connection.js";
import { Controls } from "./controls.js";
import { Feedback } from "./feedback.js";

/** @param {{name: string, isNew: boolean, group: string}} props */
export function Training({ name, isNew, group }) {
  const [state, setState] = useState(/** @type {import("./connection.js").State | null} */ (null));
  const [pressed, setPressed] = useState(/** @type {import("./connection.js").Pressed | null} */ (null));
  const [problem, setProblem] = useState("");
  const picture = useRef(/** @type {HTMLImageElement | null} */ (null));
  const connection = useRef(/** @type {Connection | null} */ (null));
  useEffect(() => {
    const query = new URLSearchParams({ training: name, group, new: isNew ? "1" : "" }).toString();
    const opened = new Connection(
      query,
      (message) => {
        if (message.state) setState(message.state);
        if (message.pressed) setPressed(message.pressed);
        if (message.failed || message.closed) setProblem(message.failed ?? "The connection is lost. What you pressed is saved.");
      },
      (data) => {
        if (picture.current) picture.current.src = `data:image/png;base64,${data}`;
      },
    );
    connection.current = opened;
    if (isNew) history.replaceState(null, "", link("task-train", { training: name, group })); // reloading goes on
    return () => opened.close();
  }, [name, isNew, group]);
  const send = (message) => connection.current?.send(message);
  const press = (key, device) => connection.current?.press(key, device);
  const isActive = useKeys(state, send, press);
  return html`
    <div class="heading"><a class="crumb" href=${link("task-train", { group })}>← All trainings</a>
      <h1>${state?.stage ? `Train: ${state.stage.name}` : "Train an agent"}</h1>
      ${state?.stage?.is_official && html`<span class="chip accent">this run counts</span>`}</div>
    ${problem && html`<div class="problem row" role="alert">${problem} <button class="push" onClick=${() => location.reload()}>Go on</button></div>`}
    ${!state && !problem && html`<p class="loading" role="status">Starting…</p>`}
    ${state && !state.stage && html`<div class="card empty"><h2>The training is over</h2><p>Thank you. Everything is saved.</p>
      <div class="actions"><a class="button primary" href=${link("task-train", { group })}>Results</a></div></div>`}
    <div class="training-columns" hidden=${!state?.stage}>
      <section class="card training-stage" aria-label="Game">
        ${state?.stage && html`<${Counters} state=${state} />`}
        <img ref=${picture} alt="What the agent does" class=${state?.is_paused ? "paused" : ""} />
        ${state?.stage && html`<${Controls} state=${state} send=${send} />`}
      </section>
      <aside class="stack">
        ${state?.stage && html`<${Feedback} state=${state} pressed=${pressed} isActive=${isActive} press=${press} />
          <section class="card"><h2>What to do</h2><p>${state.stage.text}</p></section>`}
      </aside>
    </div>
  `;
}

function Counters({ state }) {
  const { game, step, total } = state.counters;
  const { n_games: games, kind } = state.stage;
  return html`<dl class=${`training-counters numbers ${kind === "control" ? "red" : ""}`}>
    <div><dt>Game</dt><dd>${game}${games ? ` of ${games}` : ""}</dd></div>
    <div><dt>Step</dt><dd>${step}</dd></div>
    <div><dt>All steps</dt><dd>${total}</dd></div>
    <div><dt>Score</dt><dd>${state.score}</dd></div>
  </dl>`;
}

/** Keys act while the window has the focus; when they go elsewhere, the game pauses. Returns whether they act. */
function useKeys(state, send, press) {
  const [hasFocus, setFocus] = useState(document.hasFocus());
  const latest = useRef(state);
  latest.current = state;
  useEffect(() => {
    const down = (event) => {
      const keys = latest.current?.stage?.keys ?? {};
      const key = event.key.toLowerCase();
      const isField = event.target instanceof HTMLElement && event.target.matches("input:not([type=range]), textarea, select");
      if (isField || event.ctrlKey || event.metaKey || event.altKey || !(key in keys)) return;
      event.preventDefault();
      if (!event.repeat) press(key, "keyboard");
    };
    const gone = () => {
      setFocus(false);
      send({ do: "focus", has: false });
    };
    const back = () => {
      setFocus(true);
      send({ do: "focus", has: true });
    };
    addEventListener("keydown", down);
    addEventListener("blur", gone);
    addEventListener("focus", back);
    return () => {
      removeEventListener("keydown", down);
      removeEventListener("blur", gone);
      removeEventListener("focus", back);
    };
  }, []);
  return hasFocus;
}
