// From one page of the table to the next.
import { html } from "../html.js";

const SIZES = [25, 50, 100, 200, 500];

/** @param {{found: {page: number, size: number, total: number}, most: number, show: (changes: object) => void}} props */
export function Pages({ found, most, show }) {
  const { page, size, total } = found;
  const last = Math.max(0, Math.ceil(total / size) - 1);
  return html`
    <nav class="pages" aria-label="Pages">
      <button disabled=${page === 0} onClick=${() => show({ page: page - 1 || "" })}>← Before</button>
      <span class="numbers">Page ${page + 1} of ${last + 1}</span>
      <button disabled=${page >= last} onClick=${() => show({ page: page + 1 })}>Next →</button>
      <label class="inline push">Rows <select value=${size} onChange=${(event) => show({ size: event.target.value })}>
        ${SIZES.filter((each) => each <= most).map((each) => html`<option key=${each} value=${each} selected=${each === size}>${each}</option>`)}
      </select></label>
    </nav>
  `;
}
