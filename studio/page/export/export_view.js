// Exports all episodes that filters leave, and lists what was exported.
import { useMemo } from "preact/hooks";
import { Filters } from "../episodes/filters.js";
import { useFound } from "../episodes/found.js";
import { listingOf, queryOf } from "../episodes/listing.js";
import { count } from "../format.js";
import { html } from "../html.js";
import { link } from "../router.js";
import { ExportCard } from "./export_card.js";
import { ExportForm } from "./export_form.js";
import { useExports } from "./exports.js";

const COMPLETED = "completed";
const ANY = "any";
const OVER = [COMPLETED, "cancelled", "rejected", "abandoned"];

/** @param {{params: URLSearchParams, about: any, me: any}} props */
export function ExportView({ params, about, me }) {
  const listing = useMemo(() => exportable(listingOf(about, me)), [about, me]);
  const query = queryOf(listing, params);
  const { found, known, problem } = useFound(listing, query);
  const { all, problem: refused, start, remove, again } = useExports();
  const show = (changes) => {
    location.hash = link("export", { ...query, ...changes });
  };
  const clear = () => show(Object.fromEntries(listing.filters.map(({ name }) => [name, ""])));
  const isFiltered = listing.filters.some(({ name }) => query[name]);
  const begin = (rules) => start({ ...rules, filter: filterOf(query) });
  return html`
    <div class="heading"><h1>Export</h1><p class="muted" role="status">${found ? `${count(found.total, "episode")} chosen` : " "}</p></div>
    ${[problem, refused].filter(Boolean).map((each) => html`<p class="problem" role="alert">${each}</p>`)}
    <${Filters} listing=${listing} query=${query} known=${known} show=${show} clear=${clear} isFiltered=${isFiltered} />
    <div class="export-columns">
      <section class="card" aria-label="New export"><h2>New export</h2>
        <${ExportForm} episodes=${found?.total ?? 0} labels=${known.tags} start=${begin} canFolder=${me.role !== "participant"} /></section>
      <section class="card" aria-label="Your exports"><h2>Your exports</h2>
        ${all?.length === 0 && html`<p class="muted">None yet. What you export stays here until you delete it, or its time is over.</p>`}
        <div class="export-list">${all?.map((made) => html`<${ExportCard} key=${made.id} made=${made} remove=${remove} again=${again} />`)}</div>
      </section>
    </div>
  `;
}

/** The table's filters, but completed episodes are meant where no status is chosen; those being played are never. */
function exportable(listing) {
  const options = () => [["", "completed"], ...OVER.slice(1).map((status) => [status, status]), [ANY, "any"]];
  return {
    ...listing,
    filters: listing.filters.map((filter) => (filter.name === "status" ? { ...filter, options } : filter)),
    parameters: ({ status, ...query }) => {
      const parameters = new URLSearchParams(listing.parameters(query));
      for (const each of statuses(status)) parameters.append("status", each);
      return parameters.toString();
    },
  };
}

function filterOf({ study, user, tag, status }) {
  const given = Object.entries({ study, user, tag }).filter(([, value]) => value);
  return { ...Object.fromEntries(given), status: statuses(status) };
}

function statuses(status) {
  return status === ANY ? OVER : [status || COMPLETED];
}
