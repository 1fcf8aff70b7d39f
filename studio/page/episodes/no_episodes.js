// What stands where no episode does.
import { html } from "../html.js";
import { link } from "../router.js";

/** @param {{isFiltered: boolean, mode: string, clear: () => void}} props */
export function NoEpisodes({ isFiltered, mode, clear }) {
  if (isFiltered) {
    return html`<div class="card empty"><h2>No episode fits</h2><p>There are episodes, but these filters leave none.</p>
      <p class="actions"><button onClick=${clear}>Clear the filters</button></p></div>`;
  }
  if (mode === "studio") {
    return html`<div class="card empty"><h2>Nothing is recorded yet</h2><p>Every episode that a person plays appears here.</p>
      <p class="actions"><a class="button primary" href=${link("studies")}>Play a study</a></p></div>`;
  }
  return html`<div class="card empty"><h2>This dataset has no episodes yet</h2>
    <p>While it is being recorded, they appear here by themselves.</p></div>`;
}
