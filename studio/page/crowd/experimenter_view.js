// The page of the experimenter: who is where, drop-outs, pay, messages, and what stops everything.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { count } from "../format.js";
import { html } from "../html.js";
import { useEntry } from "../parts/entry.js";
import { toast, toastError } from "../parts/toasts.js";
import { Declaration } from "./declaration.js";
import { Links } from "./links.js";
import { Payments } from "./payments.js";
import { PeopleTable } from "./people_table.js";
import { Raffle } from "./raffle.js";

const POLL_MS = 3000;
const STAGES = ["consent", "questions", "screening", "instructions", "check", "lobby", "play", "after", "done", "dropped", "sent away"];

export function ExperimenterView() {
  const [crowd, setCrowd] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const load = () =>
    request("crowd").then(
      (found) => {
        setCrowd(found);
        setProblem("");
      },
      (error) => setProblem(error.message),
    );
  useEffect(() => {
    load();
    const timer = setInterval(load, POLL_MS);
    return () => clearInterval(timer);
  }, []);
  if (!crowd) {
    return problem ? html`<p class="problem" role="alert">${problem}</p>` : html`<p class="loading" role="status">Loading…</p>`;
  }
  const set = async (paused, closed) => {
    try {
      await request("crowd/state", { method: "PUT", body: { paused, closed } });
      await load();
    } catch (error) {
      toastError(error);
    }
  };
  return html`
    <div class="heading">
      <h1>${crowd.name}</h1>
      ${crowd.is_paused && html`<span class="chip warning">paused</span>`}
      ${crowd.is_closed && html`<span class="chip warning">closed to new people</span>`}
      <div class="actions">
        <button onClick=${() => set(crowd.is_paused, !crowd.is_closed)}>${crowd.is_closed ? "Let new people in" : "Close to new people"}</button>
        <button class=${crowd.is_paused ? "primary" : "danger"} onClick=${() => set(!crowd.is_paused, crowd.is_closed)}>${crowd.is_paused ? "Go on" : "Pause everything"}</button>
      </div>
    </div>
    <div class="stack">
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
      <section class="card" aria-label="Overview"><${Facts} crowd=${crowd} /></section>
      <section class="card"><h2>Links</h2><${Links} crowd=${crowd} /></section>
      <section aria-label="Tasks" class="table-frame"><${Tasks} tasks=${crowd.tasks} /></section>
      <${Declaration} load=${load} />
      <section class="card"><h2>Write to everybody</h2><${Write} /></section>
      <${PeopleTable} crowd=${crowd} load=${load} />
      <${Sessions} sessions=${crowd.sessions} />
      <${Payments} crowd=${crowd} load=${load} />
      <${Raffle} crowd=${crowd} load=${load} />
    </div>
  `;
}

function Facts({ crowd }) {
  const { stages, left, connected, cents, currency } = crowd;
  const total = Object.values(stages).reduce((sum, each) => sum + each, 0);
  return html`
    <dl class="crowd-facts">
      <div><dt>Arrived</dt><dd>${total}</dd></div>
      <div><dt>Waiting or playing</dt><dd>${connected}</dd></div>
      <div><dt>Done</dt><dd>${stages.done ?? 0}</dd></div>
      <div><dt>Dropped out</dt><dd>${stages.dropped ?? 0}</dd></div>
      <div><dt>Pay so far</dt><dd>${(cents / 100).toFixed(2)} ${currency}</dd></div>
    </dl>
    <p class="row small">${STAGES.filter((each) => stages[each]).map((each) => html`<span class="chip">${each}: ${stages[each]}</span>`)}</p>
    ${Object.keys(left).length > 0 && html`<p class="small muted">Dropped out at: ${Object.entries(left).map(([stage, number]) => `${stage} ${number}`).join(", ")}</p>`}
  `;
}

function Tasks({ tasks }) {
  return html`<table class="crowd-tasks">
    <thead><tr><th>Task</th><th class="number">Under way</th><th class="number">Completed</th><th class="number">Wanted</th></tr></thead>
    <tbody>${tasks.map(
      (each) => html`<tr><th>${each.title}</th><td class="number">${each.active}</td><td class="number">${Number(each.completed.toFixed(2))}</td><td class="number">${each.target}</td></tr>`,
    )}</tbody></table>`;
}

/** How the latest sessions ended: what failed stands here. */
function Sessions({ sessions }) {
  const bad = sessions.filter((each) => !each.is_valid || /fail|process|error/.test(each.reason));
  return html`<section class="card"><h2>Sessions</h2>
    <p class="muted">${count(sessions.filter((each) => each.ended_ns === null).length, "session")} under way. Of the latest ${sessions.length}, ${bad.length} ended by a failure.</p>
    ${bad.length > 0 && html`<ul>${bad.map((each) => html`<li><span class="mono">${each.id.slice(0, 8)}</span>: ${each.reason}</li>`)}</ul>`}</section>`;
}

function Write() {
  const [text, setText, submit] = useEntry(async (written) => {
    try {
      await request("crowd/messages", { method: "POST", body: { text: written } });
      toast(`${count(1, "message")} sent.`, "success");
      return true;
    } catch (error) {
      toastError(error);
      return false;
    }
  });
  return html`<form class="row" onSubmit=${submit}>
    <input aria-label="Message to everybody" maxlength="4000" value=${text} onInput=${(event) => setText(event.target.value)} />
    <button>Send</button></form>`;
}
