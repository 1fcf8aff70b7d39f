// Waiting for others: how many are there, and the countdown when there are enough.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { count } from "../format.js";
import { html } from "../html.js";
import { Markdown } from "../parts/markdown.js";
import { toastError } from "../parts/toasts.js";
import { link } from "../router.js";
import { remember } from "./admission.js";
import { ring } from "./bell.js";
import { waitIn } from "./lobby_socket.js";

/** @param {{params: URLSearchParams}} props */
export function LobbyView({ params }) {
  const study = params.get("study") ?? "";
  const environment = params.get("environment") ?? "";
  const [about, setAbout] = useState(/** @type {any} */ (null));
  const [said, setSaid] = useState(/** @type {any} */ (null));
  const [tries, setTries] = useState(0);
  useEffect(() => {
    request(`studies/${encodeURIComponent(study)}`).then((found) => setAbout(found.study), toastError);
  }, [study]);
  useEffect(() => {
    setSaid(null);
    return waitIn(study, environment, (message) => {
      setSaid(message);
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
      <${Standing} said=${said} />
      <div class="actions">
        ${said?.type === "refused" && html`<button class="primary" onClick=${() => setTries(tries + 1)}>Wait again</button>`}
        <a class="button" href=${back}>${said?.type === "refused" ? "Back" : "Cancel"}</a>
      </div>
    </section>
    ${texts.length > 0 && html`<section class="card"><h2>Instructions</h2>${texts.map((text) => html`<${Markdown} text=${text} />`)}</section>`}
  `;
}

function enter(study, environment, { session, token }) {
  remember(session, token, { isReady: true });
  location.hash = link("play", { study, environment, session });
}

function Standing({ said }) {
  switch (said?.type) {
    case "queue":
      return html`<h2>${said.notice ? "One moment" : "Waiting for others"}</h2>
        <${Places} filled=${Math.min(said.waiting, said.needed)} of=${said.needed} />
        <p><strong class="numbers">${said.waiting}</strong> of ${count(said.needed, "person", "people")} ${said.waiting === 1 ? "is" : "are"} here.
          You are number <strong class="numbers">${said.place}</strong>.</p>
        ${said.notice && html`<p class="note">${said.notice}</p>`}
        ${said.fill_seconds !== null && html`<p class="muted">${fillText(said.fill_seconds)}</p>`}`;
    case "countdown":
      return html`<h2>Everybody is here</h2><${Seconds} seconds=${said.seconds} />
        <p>${count(said.people, "person", "people")}${said.programs > 0 ? ` and ${count(said.programs, "program")}` : ""} play together.</p>`;
    case "matched":
      return html`<h2>Off you go</h2>`;
    case "refused":
      return html`<h2>You wait no more</h2><p role="alert">${said.message}</p>`;
    default:
      return html`<h2>${said ? "The connection is lost. Trying again…" : "Entering the lobby…"}</h2><span class="spinner" aria-hidden="true"></span>`;
  }
}

function fillText(seconds) {
  return seconds > 0 ? `If nobody else comes, programs take the empty seats in ${count(seconds, "second")}.` : "Programs take the empty seats now.";
}

function Places({ filled, of }) {
  return html`<ol class="places" aria-hidden="true">
    ${Array.from({ length: of }, (_, number) => html`<li class=${number < filled ? `taken seat-${number % 8}` : ""}></li>`)}</ol>`;
}

function Seconds({ seconds }) {
  const [left, setLeft] = useState(Math.ceil(seconds));
  useEffect(() => {
    const timer = setInterval(() => setLeft((now) => Math.max(0, now - 1)), 1000);
    return () => clearInterval(timer);
  }, []);
  return html`<p class="big numbers" role="timer" aria-label="Seconds until it begins">${left}</p>`;
}
