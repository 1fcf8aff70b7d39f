// Copies a text, and says that it did.
import { useState } from "preact/hooks";
import { html } from "../html.js";
import { toast } from "./toasts.js";

const SECONDS = 2;

/** @param {{text: string, label?: string}} props */
export function CopyButton({ text, label = "Copy link" }) {
  const [isDone, setIsDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setIsDone(true);
      setTimeout(() => setIsDone(false), SECONDS * 1000);
    } catch {
      toast(html`Your browser does not let the page copy. Take it from here: <code>${text}</code>`, "warning");
    }
  };
  return html`<button type="button" onClick=${copy}><span aria-live="polite">${isDone ? "Copied ✓" : label}</span></button>`;
}
