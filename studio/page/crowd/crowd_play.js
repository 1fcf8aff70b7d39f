// The game of a participant, and beside it how far they are, counted by the server.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { html } from "../html.js";
import { confirmed } from "../parts/dialog.js";
import { isReadyFor } from "../play/admission.js";
import { PlayerView } from "../play/player_view.js";
import { usePlayer } from "../play/use_player.js";

const POLL_MS = 2000;

export function CrowdPlay({ go }) {
  const [admission, setAdmission] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const [counted, setCounted] = useState(/** @type {any} */ (null));
  const player = usePlayer(admission);
  const enter = async () => {
    setProblem("");
    setAdmission(null);
    try {
      const { session, token } = await request("crowd/me/enter", { method: "POST", body: {} });
      setAdmission({ session, token, isReady: isReadyFor(session) });
    } catch (error) {
      setProblem(error.message);
    }
  };
  useEffect(() => {
    enter();
    const count = () => request("crowd/me/values").then(setCounted, () => {});
    count();
    const timer = setInterval(count, POLL_MS);
    return () => clearInterval(timer);
  }, []);
  const isDone = counted !== null && counted.items.every(({ progress }) => progress === undefined || progress >= 1);
  const finish = async () => {
    const question = {
      title: "End before all is done?",
      text: "What is still missing stands beside the picture. Who ends now gets no completion code.",
      yes: "End now",
      isDanger: true,
    };
    if (!isDone && !(await confirmed(question))) return;
    player?.send("leave");
    await go("finish", { early: !isDone });
  };
  const tally = html`<${Tally} counted=${counted} isDone=${isDone} finish=${finish} />`;
  if (problem || !player) {
    return html`<div class="card empty" role=${problem ? "alert" : "status"}><h2>${problem || "Opening your game…"}</h2>
      ${problem && html`<div class="actions"><button class="primary" onClick=${enter}>Try again</button><button onClick=${finish}>End the game</button></div>`}</div>`;
  }
  return html`<${PlayerView} key=${admission?.session} player=${player} study=${null} environment=""
    again=${enter} rejoin=${() => setAdmission({ ...admission })} leave=${finish} first=${tally} />`;
}

/** What is counted, item by item, and what it would be worth. */
function Tally({ counted, isDone, finish }) {
  return html`<section class="card tally" aria-label="How far you are">
    <h2>How far you are</h2>
    <ul>${(counted?.items ?? []).map(
      ({ name, text, progress }) => html`<li key=${name} class=${progress >= 1 ? "is-done" : ""}>
        <span>${text}</span>
        ${progress !== undefined && html`<progress max="1" value=${progress} aria-label=${text}></progress>`}
      </li>`,
    )}</ul>
    ${counted?.is_paid && html`<p class="numbers">Worth so far: <strong>${counted.earned.total} ${counted.earned.currency}</strong></p>`}
    <div class="actions"><button class=${isDone ? "primary" : "quiet"} onClick=${finish}>${isDone ? "I am done" : "End early"}</button></div>
  </section>`;
}
