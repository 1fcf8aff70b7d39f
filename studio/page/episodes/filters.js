// Which episodes are listed.
import { useLayoutEffect, useRef } from "preact/hooks";
import { html } from "../html.js";

const TYPING_MS = 250;

/**
 * @param {{listing: import("./listing.js").Listing, query: Record<string, string>, known: import("./listing.js").Known,
 *   show: (changes: object) => void, clear: () => void, isFiltered: boolean}} props
 */
export function Filters({ listing, query, known, show, clear, isFiltered }) {
  const timer = useRef(0);
  const typed = useRef(/** @type {Record<string, string>} */ ({})); // and not in the link yet
  const latest = useRef(show);
  latest.current = show;
  useLayoutEffect(() => () => clearTimeout(timer.current), []);
  useLayoutEffect(() => {
    typed.current = Object.fromEntries(Object.entries(typed.current).filter(([name, text]) => text !== query[name]));
  });
  /** With what was typed meanwhile, so that nothing of it is lost. */
  const now = (changes = {}) => {
    clearTimeout(timer.current);
    latest.current({ ...typed.current, ...changes });
  };
  const later = (changes) => {
    clearTimeout(timer.current);
    typed.current = { ...typed.current, ...changes };
    timer.current = setTimeout(() => now(), TYPING_MS);
  };
  const none = () => {
    clearTimeout(timer.current);
    typed.current = {};
    clear();
  };
  return html`
    <form class="filters" role="search" aria-label="Filter episodes" onSubmit=${(event) => event.preventDefault()}>
      ${listing.filters.map((filter) => html`<label key=${filter.name} class=${filter.kind}>${filter.title}
        <${Field} filter=${filter} value=${typed.current[filter.name] ?? query[filter.name]} known=${known} show=${now} later=${later} /></label>`)}
      <button type="button" class="quiet" disabled=${!isFiltered} onClick=${none}>Clear</button>
    </form>
  `;
}

function Field({ filter, value, known, show, later }) {
  const { name, kind, says, options } = filter;
  if (kind === "choice") {
    const given = options(known);
    const all = given.some(([each]) => each === value) ? given : [...given, [value, value]];
    return html`<select value=${value} onChange=${(event) => show({ [name]: event.target.value })}>
      ${all.map(([each, text]) => html`<option key=${each} value=${each} selected=${each === value}>${text}</option>`)}
    </select>`;
  }
  const type = kind === "text" ? "search" : kind;
  return html`<input type=${type} min="0" placeholder=${says} value=${value} list=${options ? `known-${name}` : undefined}
      onInput=${(event) => later({ [name]: event.target.value.trim() })} />
    ${options && html`<datalist id=${`known-${name}`}>${options(known).map(([each]) => html`<option key=${each} value=${each} />`)}</datalist>`}`;
}
