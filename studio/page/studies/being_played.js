// The sessions of a study that are being played now, for those who may watch.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { date } from "../format.js";
import { html } from "../html.js";
import { link } from "../router.js";

const AGAIN_MS = 5000;
const NS = 1e6; // in a millisecond

/** @param {{study: any}} props */
export function BeingPlayed({ study }) {
  const [sessions, setSessions] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    const controller = new AbortController();
    const ask = () => request(`studies/${encodeURIComponent(study.id)}/sessions`, { signal: controller.signal }).then(
      (found) => setSessions(found.sessions),
      () => {}, // what is known stays; the request is sent again
    );
    ask();
    const timer = setInterval(ask, AGAIN_MS);
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, [study.id]);
  const nameOf = (id) => study.environments.find((each) => each.id === id)?.name ?? "";
  return html`<section class="card being-played" aria-label="Being played now">
    <h2>Being played now</h2>
    ${sessions.length === 0 && html`<p class="muted">No session of this study is played now. Sessions are listed here while they are played, and you can watch them.</p>`}
    <ul>${sessions.map((each) => html`<li key=${each.id} class="row">
      <span>${nameOf(each.environment)}</span>
      <span class="small muted">${each.agent}, since ${date(each.started_ns / NS)}</span>
      <a class="button push" href=${link("watch", { session: each.id })}>Watch</a>
    </li>`)}</ul>
  </section>`;
}
