// How it stands in a lobby, by the latest message of the server.
import { useEffect, useState } from "preact/hooks";
import { count } from "../format.js";
import { html } from "../html.js";

/** @param {{message: any}} props `message`: the latest message; null: there is none yet */
export function Standing({ message }) {
  switch (message?.type) {
    case "queue":
      return html`<h2>${message.notice ? "One moment" : "Waiting for others"}</h2>
        <${Places} filled=${Math.min(message.waiting, message.needed)} of=${message.needed} />
        <p><strong class="numbers">${message.waiting}</strong> of ${count(message.needed, "person", "people")} ${message.waiting === 1 ? "is" : "are"} here.
          You are number <strong class="numbers">${message.place}</strong>.</p>
        ${message.notice && html`<p class="note">${message.notice}</p>`}
        ${message.fill_seconds !== null && html`<p class="muted">${fillText(message.fill_seconds)}</p>`}`;
    case "countdown":
      return html`<h2>Everybody is here</h2><${Seconds} seconds=${message.seconds} />
        <p>${count(message.people, "person", "people")}${message.programs > 0 ? ` and ${count(message.programs, "program")}` : ""} play together.</p>`;
    case "matched":
      return html`<h2>Off you go</h2>`;
    case "refused":
      return html`<h2>You wait no more</h2><p role="alert">${message.message}</p>`;
    default:
      return html`<h2>${message ? "The connection is lost. Trying again…" : "Entering the lobby…"}</h2><span class="spinner" aria-hidden="true"></span>`;
  }
}

function fillText(seconds) {
  return seconds > 0 ? `If no other person comes, programs take the empty seats in ${count(seconds, "second")}.` : "Programs take the empty seats now.";
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
