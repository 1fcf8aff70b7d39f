// Dialogs: the browser's own, which keep the focus inside and give it back.
import { render } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { html } from "../html.js";

/**
 * @param {{title: string, onClose: () => void, role?: string, children: any}} props `onClose`: Escape was pressed
 */
export function Dialog({ title, onClose, role = "dialog", children }) {
  const place = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const heading = useId();
  // Closed while it is still there: else the focus is not given back.
  useLayoutEffect(() => {
    const dialog = place.current;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  const cancel = (event) => {
    event.preventDefault(); // whoever shows it takes it away
    onClose();
  };
  return html`
    <dialog ref=${place} role=${role} aria-labelledby=${heading} onCancel=${cancel}>
      <div class="content">
        <h2 id=${heading}>${title}</h2>
        ${children}
      </div>
    </dialog>
  `;
}

/**
 * Asks before something that cannot be undone.
 * @param {{title: string, text: string, yes: string, isDanger?: boolean}} question
 * @returns {Promise<boolean>}
 */
export function confirmed({ title, text, yes, isDanger = false }) {
  const place = document.body.appendChild(document.createElement("div"));
  return new Promise((answered) => {
    const close = (answer) => {
      render(null, place);
      place.remove();
      answered(answer);
    };
    render(
      html`<${Dialog} title=${title} role="alertdialog" onClose=${() => close(false)}>
        <p>${text}</p>
        <div class="actions">
          <button onClick=${() => close(false)}>Cancel</button>
          <button class=${isDanger ? "danger" : "primary"} onClick=${() => close(true)}>${yes}</button>
        </div>
      <//>`,
      place,
    );
  });
}
