// A place in a game: a card to choose where people choose, and waiting for the others.
import { useEffect, useState } from "preact/hooks";
import { html } from "../html.js";
import { remember } from "../play/admission.js";
import { ring } from "../play/bell.js";
import { waitIn } from "../play/lobby_socket.js";
import { Standing } from "../play/standing.js";

export function Lobby({ me, go, refresh }) {
  const { cards, game } = me;
  const isChoosing = cards.length > 0 && !game;
  useEffect(() => {
    if (!isChoosing && !game) go("place");
  }, [isChoosing, Boolean(game)]);
  if (isChoosing) {
    return html`<h1>Choose a game</h1><ul class="environments">${cards.map(
      (each) => html`<li class="card environment"><div><h2>${each.title}</h2><p class="muted">${each.text}</p></div>
        <button class="primary large" aria-label=${`Play ${each.title}`} onClick=${() => go("place", { task: each.name })}>Play</button></li>`,
    )}</ul>`;
  }
  if (!game) return html`<p class="loading" role="status">Looking for a place…</p>`;
  if (game.is_alone) return html`<div class="card empty"><h2>${game.title}</h2>
    <div class="actions"><button class="primary large" onClick=${() => go("place")}>Play</button></div></div>`;
  return html`<${Waiting} title=${game.title} go=${go} refresh=${refresh} />`;
}

function Waiting({ title, go, refresh }) {
  const [latest, setLatest] = useState(/** @type {any} */ (null));
  const [tries, setTries] = useState(0);
  useEffect(() => {
    setLatest(null);
    return waitIn("/ws/crowd", null, (message) => {
      setLatest(message);
      if (message.type === "countdown") ring();
      if (message.type === "matched") {
        remember(message.session, message.token, { isReady: true });
        refresh();
      }
    });
  }, [tries]);
  return html`
    <h1>${title}</h1>
    <section class="card lobby" aria-label="Lobby" aria-live="polite">
      <${Standing} message=${latest} />
      <div class="actions">
        ${latest?.type === "refused" && html`<button class="primary" onClick=${() => setTries(tries + 1)}>Wait again</button>`}
        <button onClick=${() => go("leave")}>Leave</button>
      </div>
    </section>
  `;
}
