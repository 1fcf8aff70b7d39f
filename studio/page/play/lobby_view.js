// Waiting for others: how many are there, and the countdown when there are enough.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { html } from "../html.js";
import { Markdown } from "../parts/markdown.js";
import { toastError } from "../parts/toasts.js";
import { link } from "../router.js";
import { remember } from "./admission.js";
import { ring } from "./bell.js";
import { waitIn } from "./lobby_socket.js";
import { Standing } from "./standing.js";

/** @param {{params: URLSearchParams}} props */
export function LobbyView({ params }) {
  const study = params.get("study") ?? "";
  const environment = params.get("environment") ?? "";
  const [about, setAbout] = useState(/** @type {any} */ (null));
  const [latest, setLatest] = useState(/** @type {any} */ (null));
  const [tries, setTries] = useState(0);
  useEffect(() => {
    request(`studies/${encodeURIComponent(study)}`).then((found) => setAbout(found.study), toastError);
  }, [study]);
  useEffect(() => {
    setLatest(null);
    return waitIn("/ws/lobby", { study, environment }, (message) => {
      setLatest(message);
      if (message.type === "countdown") ring();
      if (message.type === "matched") enter(study, environment, message);
    });
  }, [study, environment, tries]);
  const back = link("study", { id: study });
  const own = about?.environments.find((each) => each.id === environment);
  const texts = [about?.instructions, own?.instructions].filter(Boolean);
  return html`
    <div class="heading">
      ${about && html`<a class="crumb" href=${back}>← ${about.name}</a>`}
      <h1>${own?.name ?? "Lobby"}</h1>
    </div>
    <section class="card lobby" aria-label="Lobby" aria-live="polite">
      <${Standing} message=${latest} />
      <div class="actions">
        ${latest?.type === "refused" && html`<button class="primary" onClick=${() => setTries(tries + 1)}>Wait again</button>`}
        <a class="button" href=${back}>${latest?.type === "refused" ? "Back" : "Cancel"}</a>
      </div>
    </section>
    ${texts.length > 0 && html`<section class="card"><h2>Instructions</h2>${texts.map((text) => html`<${Markdown} text=${text} />`)}</section>`}
  `;
}

function enter(study, environment, { session, token }) {
  remember(session, token, { isReady: true });
  location.hash = link("play", { study, environment, session });
}
