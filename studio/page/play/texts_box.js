// Messages between those who play together. They are recorded with the next step.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "../html.js";

const LONGEST = 2000;

/** @param {{player: import("./player.js").Player}} props */
export function TextsBox({ player }) {
  const [text, setText] = useState("");
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const { texts, welcome, link } = player.known;
  useLayoutEffect(() => {
    if (list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [texts]);
  if (!player.isSeated || welcome.seats.length < 2) return null;
  const send = (event) => {
    event.preventDefault();
    const content = text.trim();
    if (content && player.say(content)) setText("");
  };
  return html`<section class="card texts" aria-label="Conversation">
    <h2>Messages</h2>
    <ol ref=${list} aria-live="polite">
      ${texts.map(({ sender, content }, number) => html`<li key=${number} class=${sender === welcome.seat ? "own" : ""}>
        <span class=${`seat-dot seat-${Math.max(0, welcome.seats.indexOf(sender)) % 8}`} aria-hidden="true"></span>
        <span><strong>${sender === welcome.seat ? "You" : sender}</strong> ${content}</span></li>`)}
    </ol>
    <form class="row" onSubmit=${send}>
      <input maxlength=${LONGEST} aria-label="Message to the others" placeholder="To the others" value=${text}
        onInput=${(event) => setText(event.target.value)} />
      <button disabled=${link !== "open" || !text.trim()}>Send</button>
    </form>
  </section>`;
}
