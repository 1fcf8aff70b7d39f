// How it stands in a lobby, by the latest message of the server.
import { useEffect, useState } from "preact/hooks";
import { count } from "../format.js";
import { html } from "../html.js";

/** @param {{said: any}} props `said`: the latest message; null: there is none yet */
export function Standing({ said }) {
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
