// A field whose text is sent: it is empty at once, so that one can write on while the answer is awaited.
import { useState } from "preact/hooks";

/**
 * @param {(text: string) => Promise<boolean>} send says whether it was taken; what was not comes back into the field
 * @param {string} first text
 * @returns {[string, (text: string) => void, (event: Event) => Promise<void>]} the text, what changes it, what sends it
 */
export function useEntry(send, first = "") {
  const [text, setText] = useState(first);
  const submit = async (event) => {
    event.preventDefault();
    const written = text.trim();
    if (!written) return;
    setText("");
    if (!(await send(written))) setText((now) => now || text);
  };
  return [text, setText, submit];
}
