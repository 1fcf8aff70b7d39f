// Where one stands among all who played the same: total, best game, rank, and a histogram.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { short } from "../format.js";
import { html } from "../html.js";

export function Standings() {
  const [found, setFound] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    request("crowd/me/standings").then((answer) => setFound(answer.standings), () => {});
  }, []);
  if (found.length === 0) return null;
  return html`<section class="card stack" aria-label="Leaderboard"><h2>Where you stand</h2>
    <div class="standings">${found.map((each) => html`<${OfCollector} key=${each.name} standing=${each} />`)}</div></section>`;
}

function OfCollector({ standing }) {
  const { label, total, best, rank, of, percentile, histogram, bin } = standing;
  const most = Math.max(1, ...histogram);
  return html`<article class="standing">
    <h3>${label}</h3>
    <dl class="numbers">
      <div><dt>Your total</dt><dd>${short(total)}</dd></div>
      <div><dt>Best game</dt><dd>${short(best)}</dd></div>
      <div><dt>Rank</dt><dd>${rank} of ${of}</dd></div>
    </dl>
    ${of > 1 && html`<p class="muted small">Better than ${Math.round(percentile)} % of the others</p>
      <svg class="histogram" viewBox="0 0 100 40" role="img" aria-label=${`How many people have a total in each of ten parts: ${histogram.join(", ")}; yours is number ${bin + 1}`}>
        ${histogram.map((count, at) => html`<rect x=${at * 10 + 1} y=${40 - (38 * count) / most} width="8" height=${Math.max(0.5, (38 * count) / most)} class=${at === bin ? "mine" : ""} />`)}
      </svg>`}
  </article>`;
}
