// The table of episodes. What it shows is in the link: filters, sorting, page.
import { useEffect, useMemo, useState } from "preact/hooks";
import { count } from "../format.js";
import { html } from "../html.js";
import { link } from "../router.js";
import { EpisodesTable } from "./episodes_table.js";
import { Filters } from "./filters.js";
import { listingOf, queryOf } from "./listing.js";
import { NoEpisodes } from "./no_episodes.js";
import { Pages } from "./pages.js";
import { remember } from "./queue.js";
import { SelectionBar } from "./selection_bar.js";
import { useFound } from "./found.js";

/** @param {{params: URLSearchParams, about: any, me: any}} props */
export function EpisodesView({ params, about, me }) {
  const listing = useMemo(() => listingOf(about, me), [about, me]);
  const query = queryOf(listing, params);
  const { found, known, problem, isBusy, reload } = useFound(listing, query);
  const [selected, select] = useState(() => /** @type {Map<string, import("./listing.js").Row>} */ (new Map()));
  useEffect(() => {
    if (found) remember(found.rows.map((row) => row.id), link("episodes", query));
  }, [found]);
  /** Shows something else, from the first page unless a page is named. */
  const show = (changes) => {
    location.hash = link("episodes", { ...query, page: "", ...changes });
  };
  const isFiltered = listing.filters.some(({ name }) => query[name]);
  const clear = () => show(Object.fromEntries(listing.filters.map(({ name }) => [name, ""])));
  const isEmpty = found?.total === 0;
  return html`
    <div class="heading">
      <h1>Episodes</h1>
      <p class="muted" role="status">${found ? summary(found) : " "}</p>
    </div>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${!(isEmpty && !isFiltered) && html`
      <${Filters} listing=${listing} query=${query} known=${known} show=${show} clear=${clear} isFiltered=${isFiltered} />`}
    ${isEmpty && html`<${NoEpisodes} isFiltered=${isFiltered} mode=${about.mode} clear=${clear} />`}
    ${found && !isEmpty && html`
      <${SelectionBar} listing=${listing} query=${query} found=${found} labels=${known.tags} selected=${selected} select=${select}
        reload=${reload} />
      <${EpisodesTable} listing=${listing} rows=${found.rows} query=${query} show=${show} selected=${selected} select=${select}
        isBusy=${isBusy} />
      <${Pages} found=${found} most=${listing.mostRows} show=${show} />`}
  `;
}

function summary({ total, all }) {
  return total === all ? count(all, "episode") : `${total.toLocaleString("en")} of ${count(all, "episode")}`;
}
