// Short messages that stand in a corner for some seconds. Errors stay until they are closed.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../html.js";

const SECONDS = 6;
const MOST = 4;

/** @typedef {"info" | "success" | "warning" | "error"} Kind */

let shown = [];
let number = 0;
const changes = new EventTarget();

function show(list) {
  shown = list.slice(-MOST);
  changes.dispatchEvent(new Event("change"));
}

function take(id) {
  show(shown.filter((each) => each.id !== id));
}

/** @param {any} message text or markup @param {Kind} kind */
export function toast(message, kind = "info") {
  number += 1;
  const id = number;
  // The same text twice is one toast, so that what fails again and again does not fill the corner.
  show([...shown.filter((each) => each.message !== message), { id, message, kind }]);
  if (kind !== "error") setTimeout(() => take(id), SECONDS * 1000);
}

/** What failed, unless it was only called off. @param {Error} error */
export function toastError(error) {
  if (error.name !== "AbortError") toast(error.message, "error");
}

export function Toasts() {
  const [list, setList] = useState(shown);
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const follow = () => setList(shown);
    changes.addEventListener("change", follow);
    return () => changes.removeEventListener("change", follow);
  }, []);
  useEffect(() => {
    const corner = place.current;
    if (corner.matches(":popover-open")) corner.hidePopover();
    if (list.length > 0) corner.showPopover(); // anew, so that it stands above dialogs and a player that fills the screen
  }, [list]);
  return html`
    <div class="toasts" popover="manual" ref=${place} role="region" aria-label="Messages">
      ${list.map(
        (each) => html`<div key=${each.id} class=${`toast ${each.kind}`} role=${each.kind === "error" ? "alert" : "status"}>
          <div>${each.message}</div>
          <button class="quiet" aria-label="Close this message" onClick=${() => take(each.id)}>✕</button>
        </div>`,
      )}
    </div>
  `;
}
