// Finds an environment among all that can be made: a combobox as the ARIA practices describe it.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { html } from "../html.js";

const MOST = 50;

/** @param {{ids: string[] | null, value: string, choose: (id: string) => void}} props */
export function EnvironmentSearch({ ids, value, choose }) {
  const [text, setText] = useState(value);
  const [isOpen, setIsOpen] = useState(false);
  const [at, setAt] = useState(0);
  const list = useId();
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => setText(value), [value]);
  const found = matching(ids ?? [], text === value ? "" : text);
  useEffect(() => {
    place.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [at, isOpen]);

  const take = (id) => {
    setText(id);
    setIsOpen(false);
    choose(id);
  };
  const onKeyDown = (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) {
      event.preventDefault();
      setIsOpen(true);
      setAt(isOpen ? Math.min(Math.max(at + by, 0), Math.min(found.length, MOST) - 1) : at);
    } else if (event.key === "Enter" && isOpen && found[at]) {
      event.preventDefault();
      take(found[at]);
    } else if (event.key === "Escape" && isOpen) {
      event.stopPropagation();
      setIsOpen(false);
    }
  };
  const onBlur = () => {
    setIsOpen(false);
    const typed = text.trim();
    const exact = ids ? ids.find((each) => each.toLowerCase() === typed.toLowerCase()) : typed; // the server knows
    exact ? take(exact) : setText(value);
  };
  const isShown = isOpen && ids !== null;
  return html`
    <label>Environment
      <span class="combo" ref=${place}>
        <input role="combobox" aria-autocomplete="list" aria-expanded=${isShown} aria-controls=${list} required autocomplete="off"
          spellcheck="false" placeholder=${ids ? `search ${ids.length.toLocaleString("en")} environments` : "loading…"} value=${text}
          aria-activedescendant=${isShown && found[at] ? `${list}-${at}` : undefined}
          onInput=${(event) => { setText(event.target.value); setIsOpen(true); setAt(0); }}
          onFocus=${(event) => event.target.select()} onClick=${() => setIsOpen(true)} onKeyDown=${onKeyDown} onBlur=${onBlur} />
        <ul id=${list} role="listbox" aria-label="Environments" hidden=${!isShown}>
          ${found.slice(0, MOST).map(
            (each, number) => html`<li id=${`${list}-${number}`} key=${each} role="option" aria-selected=${number === at}
              onMouseDown=${(event) => { event.preventDefault(); take(each); }}>${each}</li>`,
          )}
          ${found.length === 0 && html`<li class="info">Nothing is called “${text}”. Environments of other packages are known once the
            studio is started with their module.</li>`}
          ${found.length > MOST && html`<li class="info">and ${(found.length - MOST).toLocaleString("en")} more: type to narrow it down</li>`}
        </ul>
      </span>
    </label>
  `;
}

/** Those that have all words; names that begin with the text first. @param {string[]} ids @param {string} text */
function matching(ids, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fitting = ids.filter((each) => words.every((word) => each.toLowerCase().includes(word)));
  const begins = (id) => (id.toLowerCase().replace(/^.*\//, "").startsWith(words[0] ?? "") ? 0 : 1);
  return words.length === 0 ? fitting : fitting.sort((one, other) => begins(one) - begins(other));
}
