// What is done with all selected episodes: tagging, exporting, deleting.
import { useState } from "preact/hooks";
import { count } from "../format.js";
import { html } from "../html.js";
import { ExportDialog } from "../export/export_dialog.js";
import { confirmed } from "../parts/dialog.js";
import { useEntry } from "../parts/entry.js";
import { toast, toastError } from "../parts/toasts.js";
import { allFound, deleteAll, tagAll } from "./many.js";

/**
 * @typedef {import("./listing.js").Row} Row
 * @param {{listing: import("./listing.js").Listing, query: Record<string, string>, found: import("./listing.js").Found,
 *   labels: string[], selected: Map<string, Row>, select: (selected: Map<string, Row>) => void, reload: () => void}} props
 */
export function SelectionBar({ listing, query, found, labels, selected, select, reload }) {
  const [isExporting, setExporting] = useState(false);
  const [working, setWorking] = useState("");
  /** Does something that takes a while, and says how it went. @returns {Promise<boolean>} whether it was done */
  const work = async (says, act) => {
    setWorking(says);
    try {
      await act();
      return true;
    } catch (error) {
      toastError(error);
      return false;
    } finally {
      setWorking("");
      reload();
    }
  };
  const rows = [...selected.values()];
  const deletable = rows.filter((row) => row.canDelete);
  const remove = async () => {
    const text = `The recordings of ${count(deletable.length, "episode")} are shown and exported no more. This cannot be undone.`;
    if (!(await confirmed({ title: `Delete ${count(deletable.length, "episode")}?`, text, yes: "Delete", isDanger: true }))) return;
    await work("Deleting…", async () => {
      const gone = await deleteAll(deletable);
      select(new Map([...selected].filter(([id]) => !gone.has(id))));
      toast(`Deleted ${count(gone.size, "episode")}.`, "success");
    });
  };
  const selectAll = () => work("Selecting…", async () => select(new Map((await allFound(listing, query)).map((row) => [row.id, row]))));
  return html`
    <div class=${`selection${selected.size ? " active" : ""}`} role="toolbar" aria-label="Selected episodes">
      <span role="status">${working || (selected.size ? `${count(selected.size, "episode")} selected`
        : html`<span class="muted">Select episodes to tag${listing.isStudio ? ", export or delete" : ""} them together</span>`)}</span>
      ${selected.size < found.total && html`<button class="quiet" onClick=${selectAll}>Select all ${found.total.toLocaleString("en")}</button>`}
      ${selected.size > 0 && html`
        <button class="quiet" onClick=${() => select(new Map())}>Select none</button>
        <${TagForm} labels=${labels} add=${(label) => work("Tagging…", () => tag(rows.filter((row) => row.canTag), label))} />
        ${listing.isStudio && html`<button onClick=${() => setExporting(true)}>Export…</button>
          <button class="danger" disabled=${!deletable.length} onClick=${remove}>Delete…</button>`}`}
    </div>
    ${isExporting && html`<${ExportDialog} canFolder=${listing.canFolder} episodes=${rows} labels=${labels} close=${() => setExporting(false)} />`}
  `;
}

async function tag(rows, label) {
  const { added, had } = await tagAll(rows, label);
  toast(`Tagged ${count(added, "episode")} “${label}”${had ? `; ${had} had it already` : ""}.`, "success");
}

function TagForm({ labels, add }) {
  const [text, setText, submit] = useEntry(add);
  return html`<form class="inline push" onSubmit=${submit}>
    <input value=${text} list="labels" maxlength="200" required placeholder="Tag" aria-label="Tag the selected episodes"
      onInput=${(event) => setText(event.target.value)} />
    <datalist id="labels">${labels.map((label) => html`<option key=${label} value=${label} />`)}</datalist>
    <button disabled=${!text.trim()}>Add tag</button>
  </form>`;
}
