// The export of chosen episodes: what to make of them, then how far it is. Closing the dialog does not stop it.
import { useState } from "preact/hooks";
import { count } from "../format.js";
import { html } from "../html.js";
import { Dialog } from "../parts/dialog.js";
import { link } from "../router.js";
import { ExportCard } from "./export_card.js";
import { ExportForm } from "./export_form.js";
import { isOver, useExports } from "./exports.js";

const COMPLETED = "completed";

/** @param {{episodes: import("../episodes/listing.js").Row[], labels: string[], close: () => void, canFolder: boolean}} props */
export function ExportDialog({ episodes, labels, close, canFolder }) {
  const { all, problem, start, remove, again } = useExports();
  const [chosen] = useState(episodes); // the table may change below
  const [begun, setBegun] = useState("");
  const [isAll, setAll] = useState(false);
  const exportable = chosen.filter((row) => row.status !== "recording");
  const completed = exportable.filter((row) => row.status === COMPLETED);
  const wanted = isAll ? exportable : completed;
  const offered = [...new Set([...labels, ...chosen.flatMap((row) => row.tags)])].sort();
  const made = all?.find((each) => each.id === begun);
  const begin = async (rules) => {
    const job = await start({ ...rules, episodes: wanted.map((row) => row.id) });
    if (job) setBegun(job.id);
  };
  return html`
    <${Dialog} title="Export" onClose=${close}>
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
      ${!begun && exportable.length > completed.length && html`<label class="option">
        <input type="checkbox" class="switch" role="switch" checked=${isAll} onChange=${(event) => setAll(event.target.checked)} />
        <span>Also those that are not complete
          <span class="hint">${count(exportable.length - completed.length, "episode")} cancelled, rejected or abandoned</span></span></label>`}
      ${!begun && html`<${ExportForm} episodes=${wanted.length} labels=${offered} start=${begin} cancel=${close} canFolder=${canFolder} />`}
      ${begun && made && html`<${ExportCard} made=${made} remove=${remove} again=${again} />`}
      ${begun && html`<div class="actions"><a href=${link("export")} onClick=${close}>All exports</a>
        <button onClick=${close}>${made && isOver(made) ? "Close" : "Go on in the background"}</button></div>`}
    <//>
  `;
}
