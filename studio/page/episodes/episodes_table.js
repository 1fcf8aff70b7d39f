// One row for each episode of the page; cards on a phone.
import { useRef } from "preact/hooks";
import { date, duration, short } from "../format.js";
import { html } from "../html.js";
import { colorOf } from "../replay/labels.js";
import { link } from "../router.js";
import { rowKeys } from "./row_keys.js";

/**
 * @typedef {import("./listing.js").Row} Row
 * @param {{listing: import("./listing.js").Listing, rows: Row[], query: Record<string, string>, show: (changes: object) => void,
 *   selected: Map<string, Row>, select: (selected: Map<string, Row>) => void, isBusy: boolean}} props
 */
export function EpisodesTable({ listing, rows, query, show, selected, select, isBusy }) {
  const last = useRef(/** @type {string | null} */ (null));
  const choose = (chosen, isOn) => {
    const after = new Map(selected);
    for (const row of chosen) isOn ? after.set(row.id, row) : after.delete(row.id);
    select(after);
  };
  /** With Shift, all rows since the one that was chosen before. */
  const chooseOne = (row, event) => {
    const [from, to] = [rows.findIndex((each) => each.id === last.current), rows.indexOf(row)];
    const isRange = event.shiftKey && from >= 0;
    choose(isRange ? rows.slice(Math.min(from, to), Math.max(from, to) + 1) : [row], event.target.checked);
    last.current = row.id;
  };
  const chosen = rows.filter((row) => selected.has(row.id)).length;
  return html`
    <div class="table-frame cards" aria-busy=${isBusy}>
      <table class="episodes" onKeyDown=${rowKeys}>
        <thead>
          <tr>
            <th class="check"><input type="checkbox" aria-label="Select all of this page" checked=${chosen === rows.length}
              ref=${(box) => box && (box.indeterminate = chosen > 0 && chosen < rows.length)}
              onChange=${(event) => choose(rows, event.target.checked)} /></th>
            ${listing.columns.map((column) => html`<${Heading} key=${column.name} column=${column}
              sort=${query.sort || listing.sort} show=${show} />`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map((row) => html`<${Line} key=${row.id} row=${row} columns=${listing.columns} isSelected=${selected.has(row.id)}
            choose=${(event) => chooseOne(row, event)} />`)}
        </tbody>
      </table>
    </div>
  `;
}

function Heading({ column, sort, show }) {
  if (!column.sort) return html`<th scope="col">${column.title}</th>`;
  const isDescending = sort.startsWith("-");
  const isSorted = sort.replace(/^-/, "") === column.sort;
  const state = isSorted ? (isDescending ? "descending" : "ascending") : "none";
  const change = () => show({ sort: isSorted && !isDescending ? `-${column.sort}` : column.sort });
  return html`<th scope="col" aria-sort=${state} class=${column.isNumber ? "number" : ""}>
    <button class="sort" onClick=${change}>${column.title}
      <span class="arrow" aria-hidden="true">${isSorted ? (isDescending ? "↓" : "↑") : ""}</span></button>
  </th>`;
}

function Line({ row, columns, isSelected, choose }) {
  return html`
    <tr class=${isSelected ? "selected" : ""} data-episode=${row.id}>
      <td class="check"><input type="checkbox" aria-label=${`Select episode ${row.name} ${row.environment}`} checked=${isSelected}
        onClick=${choose} /></td>
      ${columns.map((column) => html`<${Cell} key=${column.name} column=${column} row=${row} />`)}
    </tr>
  `;
}

function Cell({ column, row }) {
  if (column.name === "name") {
    return html`<th scope="row" class="name"><a href=${link("replay", { episode: row.id })}>${row.name}</a>
      <span class="muted of">${row.environment}</span></th>`;
  }
  return html`<td data-label=${column.title} class=${`${column.name}${column.isNumber ? " number" : ""}`}>${content(column.name, row)}</td>`;
}

function content(name, row) {
  switch (name) {
    case "steps":
      return row.steps.toLocaleString("en");
    case "total":
      return short(row.total);
    case "seconds":
      return duration(row.seconds);
    case "started":
      return date(row.started);
    case "status":
      return html`<span class=${`chip ${row.tone}`}>${row.status}</span>
        ${row.watched && html` <a class="small" href=${link("watch", { session: row.watched })}>Watch</a>`}`;
    case "tags":
      return html`<span class="row-tags">${row.tags.map((tag) => html`<span key=${tag} class=${`label ${colorOf(tag)}`}>${tag}</span>`)}</span>`;
    default:
      return row[name];
  }
}
