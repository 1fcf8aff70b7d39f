// The reward profile: a chart that is also a way to move.
import { useEffect, useRef, useState } from "preact/hooks";
import { short } from "../format.js";
import { html } from "../html.js";
import { ProfileChart } from "./profile_chart.js";

/**
 * @param {{profile: any, length: number, annotations: import("./live_annotations.js").Annotation[], step: number,
 *   span: [number, number] | null, go: (step: number) => void, choose: (span: [number, number]) => void}} props
 */
export function RewardProfile({ profile, length, annotations, step, span, go, choose }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const chart = useRef(/** @type {ProfileChart | null} */ (null));
  const does = useRef({ go, choose });
  does.current = { go, choose };
  const [name, setName] = useState(profile.series[0].name);
  const series = profile.series.find((each) => each.name === name) ?? profile.series[0];
  const at = profile.steps.findLastIndex((each) => each <= step);
  const tags = annotations.filter((each) => each.kind === "tag" && each.steps);
  const drawn = { length, steps: profile.steps, rewards: series.rewards, sums: series.sums, tags, span };
  useEffect(() => {
    const made = new ProfileChart(place.current, drawn, {
      go: (to) => does.current.go(to),
      choose: (chosen) => does.current.choose(chosen),
    });
    chart.current = made;
    return onThemeChange(() => made.recolour(), () => made.close());
  }, []);
  useEffect(() => chart.current.update(drawn), [series, annotations, span]);
  useEffect(() => chart.current.mark(step), [step, series]);
  return html`
    <section class="profile card" aria-label="Reward profile">
      <header class="row">
        <h2>Rewards</h2>
        ${profile.series.length > 1 && html`<label class="inline"><span class="unseen">Whose</span>
          <select value=${name} onChange=${(event) => setName(event.target.value)}>
            ${profile.series.map((each) => html`<option value=${each.name} selected=${each.name === name}>${each.name || "reward"}</option>`)}
          </select></label>`}
        <span class="key reward-key">reward <b>${short(series.rewards[at])}</b></span>
        <span class="key sum-key">sum <b>${short(series.sums[at])}</b></span>
        ${series.not_finite > 0 && html`<span class="chip warning">${series.not_finite} not finite, left out of the sum</span>`}
      </header>
      <div class="chart" ref=${place} title="Click: go to the step. Shift and drag: choose a span."></div>
    </section>
  `;
}

/** @returns {() => void} stops and ends */
function onThemeChange(redraw, close) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  addEventListener("themechange", redraw);
  system.addEventListener("change", redraw);
  return () => {
    removeEventListener("themechange", redraw);
    system.removeEventListener("change", redraw);
    close();
  };
}
