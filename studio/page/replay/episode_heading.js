// Which episode it is, the ones beside it, and what is known of it.
import { neighbours, tableLink } from "../episodes/queue.js";
import { count, date } from "../format.js";
import { html } from "../html.js";
import { CopyButton } from "../parts/copy_button.js";
import { link } from "../router.js";
import { deleteEpisode } from "./studio_row.js";
import { ValueTree } from "./value_tree.js";

const TONES = { terminated: "success", truncated: "accent", open: "warning", damaged: "danger" };

/**
 * @param {{facts: any, about: any, row: import("../episodes/listing.js").Row | null, step: number, isLive: boolean,
 *   help: () => void}} props
 */
export function EpisodeHeading({ facts, about, row, step, isLive, help }) {
  const { before, after } = neighbours(facts);
  const name = titleOf(facts, row);
  const environment = valueOf(facts.about.provenance, "id");
  document.title = `${name} · ${about?.dataset ?? "studio"} · rlds-kit`;
  return html`
    <div class="heading replay-heading">
      <span class="crumb"><a href=${tableLink()}>Episodes</a></span>
      <h1>${name}</h1>
      ${row ? html`<span class=${`chip ${row.tone}`}>${row.status}</span>` : html`<${Ending} end=${facts.end} />`}
      <span class="muted">${[environment, count(facts.length, "step"), row && facts.end, date(facts.started)].filter(Boolean)
        .join(" · ")}</span>
      <div class="actions">
        <span class=${`chip ${isLive ? "success" : ""}`} role="status" title=${isLive
          ? "What others say appears at once" : "What others say does not appear until the connection is back"}>
          <span class="dot"></span>${isLive ? "live" : "connecting"}</span>
        <${Beside} id=${before} sign="←" name="Episode before (k)" />
        <${Beside} id=${after} sign="→" name="Next episode (j)" />
        <${CopyButton} text=${new URL(link("replay", { episode: facts.id, step }), location.href).href} label="Copy link" />
        ${row?.watched && html`<a class="button" href=${link("watch", { session: row.watched })}>Watch</a>`}
        ${row?.canDelete && html`<button class="danger" onClick=${() => deleteEpisode(row, facts)}>Delete…</button>`}
        <button class="keys-button" onClick=${help} title="Keys (?)">Keys <kbd>?</kbd></button>
      </div>
    </div>
    <details class="about-episode"><summary>About this episode</summary>
      <div class="card"><${ValueTree} fields=${aboutFields(facts)} isRounded=${false} depth=${1} /></div></details>
  `;
}

function Ending({ end }) {
  const isOpen = end === "open";
  return html`<span class=${`chip ${TONES[end] ?? ""}`}>${isOpen && html`<span class="dot"></span>`}
    ${isOpen ? "being recorded" : end}</span>`;
}

function titleOf(facts, row) {
  if (row) return `${row.name} ${row.environment}`;
  return `Episode ${facts.number ?? facts.id.slice(0, 8)}`;
}

function Beside({ id, sign, name }) {
  if (!id) return html`<button class="icon-only" disabled aria-label=${name}>${sign}</button>`;
  return html`<a class="button icon-only" href=${link("replay", { episode: id })} aria-label=${name} title=${name}>${sign}</a>`;
}

function aboutFields(facts) {
  const id = { name: "id", value: { kind: "text", value: facts.id, size: facts.id.length } };
  return [id, ...Object.entries(facts.about).map(([name, value]) => ({ name, value }))];
}

function valueOf(value, name) {
  return value?.items?.find(([key]) => key === name)?.[1]?.value ?? "";
}
