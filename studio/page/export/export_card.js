// One export: how far it is, then what is in it and where.
import { count, date } from "../format.js";
import { html } from "../html.js";
import { CopyButton } from "../parts/copy_button.js";

const UNITS = ["bytes", "kB", "MB", "GB", "TB"];
const NS = 1e6; // in a millisecond

/**
 * @param {{made: import("./exports.js").Export, remove: (id: string) => void, again: (id: string) => void}} props
 */
export function ExportCard({ made, remove, again }) {
  const { id, name, state, episodes, error, created_ns: created } = made;
  return html`
    <article class="export" aria-label=${`Export ${name}`}>
      <header class="row"><h3>${name}${made.archive ? ".zip" : ""}</h3><span class="muted small">${date(created / NS)}</span></header>
      <p class="muted small">${count(episodes, "episode")} · ${rulesOf(made.rules)}</p>
      ${(state === "waiting" || state === "running") && html`<${Running} made=${made} cancel=${() => remove(id)} />`}
      ${state === "done" && html`<${Done} made=${made} remove=${() => remove(id)} />`}
      ${state === "failed" && html`<p class="problem" role="alert">${error}</p>`}
      ${state === "cancelled" && html`<p class="note" role="status">Cancelled; nothing of it is left.</p>`}
      ${(state === "failed" || state === "cancelled") && html`<div class="actions">
        ${made.can_retry && html`<button onClick=${() => again(id)}>Try again</button>`}
        <button class="quiet" onClick=${() => remove(id)}>Remove</button></div>`}
    </article>
  `;
}

function Running({ made, cancel }) {
  const percent = Math.floor(made.progress * 100);
  return html`
    <progress max="1" value=${made.progress} aria-label=${`Progress of ${made.name}`}></progress>
    <div class="row"><span class="numbers" role="status">${made.state === "waiting" ? "Waiting for its turn" : `${percent} %`}</span>
      <button class="push" onClick=${cancel}>Cancel</button></div>
  `;
}

function Done({ made, remove }) {
  const { report } = made;
  const file = `/api/exports/${made.id}/file`;
  return html`
    <p role="status">${count(report.episodes, "episode")}, ${count(report.steps, "step")}, ${size(report.bytes)}.
      ${report.left_out.length > 0 && ` ${count(report.left_out.length, "episode")} left out: nothing of them is on the disk.`}</p>
    ${made.expires_ns && html`<p class="muted small">It is deleted on ${date(made.expires_ns / NS)}.</p>`}
    <details><summary>Fields</summary><p class="fields">${report.fields_before.map((field) => html`<code key=${field}
        class=${report.fields_after.includes(field) ? "" : "gone"}>${field}</code>`)}
      ${report.fields_after.filter((field) => !report.fields_before.includes(field)).map((field) => html`<code class="new"
        key=${field}>${field}</code>`)}</p></details>
    ${report.losses.map(({ field, reason, values }) => html`<p class="note warning small" key=${`${field} ${reason}`}>
      <code>${field}</code>: ${reason} (${count(values, "value")})</p>`)}
    ${made.path && html`<div class="row path"><code>${made.path}</code><${CopyButton} text=${made.path} label="Copy path" /></div>`}
    <div class="actions">
      ${made.archive && html`<a class="button primary" href=${file} download>Download</a>
        <${CopyButton} text=${new URL(file, location.href).href} />`}
      <button class="quiet push" onClick=${remove}>Delete</button>
    </div>
  `;
}

function rulesOf({ format, strip, tag_columns: columns, end_tags: ends }) {
  const parts = [format, strip && "stripped", columns && "with tags", ends.length > 0 && `ending at ${ends.join(" or ")}`];
  return parts.filter(Boolean).join(", ");
}

/** @param {number} bytes */
function size(bytes) {
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1);
  return `${Number((bytes / 1000 ** power).toPrecision(3))} ${UNITS[power]}`;
}
