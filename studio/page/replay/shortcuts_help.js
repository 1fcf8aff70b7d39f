// Which keys there are.
import { useEffect, useRef } from "preact/hooks";
import { html } from "../html.js";
import { SHORTCUTS } from "./shortcuts.js";

const WRITTEN = { " ": "Space", ArrowRight: "→", ArrowLeft: "←", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc" };

/** @param {{isOpen: boolean, close: () => void}} props */
export function ShortcutsHelp({ isOpen, close }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    if (isOpen && !dialog.current.open) dialog.current.showModal();
    if (!isOpen && dialog.current.open) dialog.current.close();
  }, [isOpen]);
  const groups = [...new Set(SHORTCUTS.map((each) => each.group))];
  return html`
    <dialog class="shortcuts" ref=${dialog} onClose=${close} aria-labelledby="shortcuts-title"
      onClick=${(event) => event.target === dialog.current && close()}>
      <header><h2 id="shortcuts-title">Keys</h2>
        <button class="quiet" onClick=${close} aria-label="Close">✕</button></header>
      <div class="shortcut-groups">
        ${groups.map((group) => html`<section key=${group}><h3>${group}</h3><dl>
          ${SHORTCUTS.filter((each) => each.group === group).map((each) => html`
            <dt><${Keys} keys=${each.keys} /></dt><dd>${each.does}</dd>`)}
        </dl></section>`)}
      </div>
    </dialog>
  `;
}

function Keys({ keys }) {
  if (keys.length > 2) return html`<kbd>${keys[0]}</kbd>–<kbd>${keys.at(-1)}</kbd>`;
  return keys[0].split(/(?<=Shift)\+/).map((key) => html`<kbd>${WRITTEN[key] ?? key}</kbd>`);
}
