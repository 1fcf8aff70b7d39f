// The way of a participant: the server says where they are, and each step is sent there.
import { useCallback, useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { html } from "../html.js";
import { parse } from "../router.js";
import { Consent, Instructions, LastPage, SentAway } from "./pages.js";
import { Form } from "./form.js";
import { Lobby } from "./lobby.js";
import { CrowdPlay } from "./crowd_play.js";
import { Screening } from "./screening.js";
import { Report } from "./report.js";

const POLL_MS = 4000; // shows that the page is open, and brings messages
const CUT_SHORT = new Set(["after", "done"]); // at which a reason says that the study ended the game
const OVER = new Set(["done", "sent away", "dropped"]);

export function ParticipantView() {
  const [me, setMe] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const arrive = useCallback(async (again = false) => {
    try {
      setProblem("");
      await logIn();
      const parameters = Object.fromEntries(new URLSearchParams(location.search));
      setMe((await request("crowd/arrivals", { method: "POST", body: { group: group(), parameters, again } })).me);
    } catch (error) {
      setProblem(error.message);
    }
  }, []);
  const refresh = useCallback(
    () => request("crowd/me").then((found) => setMe(found.me), () => {}), // the next one may be answered
    [],
  );
  const go = useCallback(async (step, body = {}) => {
    try {
      setProblem("");
      setMe((await request(`crowd/me/${step}`, { method: "POST", body })).me);
      scrollTo({ top: 0 });
    } catch (error) {
      setProblem(error.message);
      await refresh();
    }
  }, []);
  useEffect(() => {
    arrive();
  }, [arrive]);
  const isOver = !me || OVER.has(me.stage);
  useEffect(() => {
    if (isOver) return undefined;
    const timer = setInterval(refresh, POLL_MS);
    return () => clearInterval(timer);
  }, [isOver]);
  useEffect(() => {
    if (me) document.title = me.name;
  }, [me?.name]);

  if (!me) {
    return problem
      ? html`<div class="card empty crowd-narrow" role="alert"><h2>You cannot take part now</h2><p>${problem}</p>
          <div class="actions"><button onClick=${() => arrive()}>Try again</button></div></div>`
      : html`<p class="loading" role="status">Loading…</p>`;
  }
  const isPlaying = me.stage === "play" && !me.is_paused;
  return html`
    <div class=${isPlaying ? "crowd" : "crowd crowd-narrow"}>
      <progress class="crowd-progress" max="1" value=${me.progress} aria-label="How far you are"></progress>
      ${me.messages.map((each) => html`<p key=${each.id} class="note" role="status">${each.text}</p>`)}
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
      ${CUT_SHORT.has(me.stage) && me.reason && html`<p class="note warning" role="status">${me.reason}</p>`}
      ${me.is_paused && !OVER.has(me.stage)
        ? html`<div class="card empty" role="status"><h2>The study pauses</h2><p>Nothing is lost. This page goes on by itself.</p></div>`
        : html`<${Step} me=${me} go=${go} refresh=${refresh} arrive=${arrive} />`}
      ${!isPlaying && html`<${Report} />`}
    </div>
  `;
}

function Step({ me, go, refresh, arrive }) {
  switch (me.stage) {
    case "consent":
      return html`<${Consent} me=${me} go=${go} />`;
    case "questions":
      return html`<${Form} title="Some questions first" form=${me.form} send=${(answers) => go("answers", { answers })} />`;
    case "screening":
      return html`<${Screening} go=${go} />`;
    case "instructions":
      return html`<${Instructions} me=${me} go=${go} />`;
    case "check":
      return html`<${Form} key="check" title="Did we explain it well?" form=${me.form} note=${attemptsText(me.attempts)}
        send=${(answers) => go("check", { answers })} />`;
    case "lobby":
      return html`<${Lobby} me=${me} go=${go} refresh=${refresh} />`;
    case "play":
      return html`<${CrowdPlay} go=${go} />`;
    case "after":
      return html`<${Form} title="Some last questions" form=${me.form} send=${(answers) => go("answers", { answers })} />`;
    case "done":
      return html`<${LastPage} me=${me} again=${() => arrive(true)} />`;
    case "dropped":
      return html`<div class="card empty"><h2>You left</h2><p>Your place may be another participant's by now.</p>
        <div class="actions"><button class="primary" onClick=${() => arrive()}>Come back</button></div></div>`;
    default:
      return html`<${SentAway} me=${me} />`;
  }
}

/** The group of the link, `/crowd/main`. */
function group() {
  return decodeURIComponent(location.pathname.split("/")[2] ?? "");
}

/** With a link of one's own, which the experimenter made for a participant who lost their browser. */
async function logIn() {
  const token = parse().params.get("token");
  if (!token) return;
  await request("login", { method: "POST", body: { token } });
  history.replaceState(null, "", location.pathname + location.search);
}

function attemptsText(attempts) {
  return attempts === 1 ? "This is your last attempt." : `You have ${attempts} attempts; you can read the instructions again between them.`;
}
