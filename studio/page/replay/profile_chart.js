// The chart of rewards: what each step brought, the sum until then, tags, and where one is.
import uPlot from "uplot";
import { short } from "../format.js";
import { drawTags } from "./chart_tags.js";
import { nearestEvent } from "./nearest_event.js";

/**
 * @typedef {object} Drawn
 * @property {number} length of the episode
 * @property {number[]} steps that are given; all, or those with the least and greatest rewards
 * @property {any[]} rewards of these; text where they are no finite numbers
 * @property {any[]} sums
 * @property {import("./live_annotations.js").Annotation[]} tags of steps
 * @property {[number, number] | null} span that is chosen
 */

const REACH = 4; // pixels
const PRIMARY = 0;

export class ProfileChart {
  /**
   * @param {HTMLElement} place
   * @param {Drawn} drawn
   * @param {{go: (step: number) => void, choose: (span: [number, number]) => void}} does
   */
  constructor(place, drawn, does) {
    this.place = place;
    this.drawn = drawn;
    this.does = does;
    this.step = 0;
    this.marker = document.createElement("div");
    this.marker.className = "chart-marker";
    this.plot = new uPlot(this.#options(), columns(drawn), place);
    this.plot.over.append(this.marker);
    this.#listen();
    this.watcher = new ResizeObserver(() => this.#fit());
    this.watcher.observe(place);
  }

  /** Marks the step that is shown. @param {number} step */
  mark(step) {
    this.step = step;
    const at = this.plot.valToPos(step, "x");
    this.marker.hidden = !Number.isFinite(at);
    this.marker.style.transform = `translateX(${Math.round(at)}px)`;
  }

  /** Shows other numbers, tags or spans. @param {Drawn} drawn */
  update(drawn) {
    const isSame = drawn.rewards === this.drawn.rewards;
    this.drawn = drawn;
    if (isSame) this.plot.redraw(false);
    else this.plot.setData(columns(drawn));
    this.mark(this.step);
  }

  /** Draws in the colours of the page as they are now. */
  recolour() {
    this.plot.destroy();
    this.plot = new uPlot(this.#options(), columns(this.drawn), this.place);
    this.plot.over.append(this.marker);
    this.#listen();
    this.mark(this.step);
  }

  close() {
    this.watcher.disconnect();
    this.plot.destroy();
  }

  #fit() {
    const { clientWidth: width, clientHeight: height } = this.place;
    if (width && height && (width !== this.plot.width || height !== this.plot.height)) this.plot.setSize({ width, height });
    this.mark(this.step);
  }

  /** A click goes to a step, pressing and moving goes along; with Shift it chooses a span. */
  #listen() {
    const { over } = this.plot;
    let from = /** @type {number | null} */ (null);
    const wanted = (event) => this.plot.posToVal(event.clientX - over.getBoundingClientRect().left, "x");
    const act = (event, step) => {
      if (event.shiftKey) this.does.choose([Math.min(from, step), Math.max(from, step) + 1]);
      this.does.go(step);
    };
    over.addEventListener("pointerdown", (event) => {
      if (event.button !== PRIMARY) return;
      over.setPointerCapture(event.pointerId);
      const reach = Math.abs(this.plot.posToVal(REACH, "x") - this.plot.posToVal(0, "x"));
      from = this.#within(nearestEvent(this.drawn, wanted(event), reach));
      act(event, from);
    });
    over.addEventListener("pointermove", (event) => from !== null && act(event, this.#within(Math.round(wanted(event)))));
    for (const end of ["pointerup", "pointercancel"]) over.addEventListener(end, () => (from = null));
  }

  #within(step) {
    return Math.min(Math.max(step, 0), this.drawn.length - 1);
  }

  #options() {
    const colour = coloursOf(this.place);
    const axis = (scale, side, stroke) => ({
      scale, side, stroke, size: 52, gap: 4, font: colour.font,
      grid: { show: scale !== "sum", stroke: colour.line, width: 1 }, ticks: { show: false },
      values: (_, splits) => splits.map((each) => (each === null ? "" : short(each))),
    });
    return {
      width: this.place.clientWidth || 600,
      height: this.place.clientHeight || 160,
      padding: [10, 4, 0, 4],
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, y: false, points: { size: 7 } },
      select: { show: false },
      scales: { x: { time: false, range: () => [-0.5, Math.max(this.drawn.length, 1) - 0.5] }, reward: { range: spread }, sum: { range: spread } },
      axes: [
        { ...axis("x", 2, colour.muted), size: 28, values: (_, splits) => splits.map((each) => (Number.isInteger(each) ? short(each) : "")) },
        axis("reward", 3, colour.reward),
        axis("sum", 1, colour.sum),
      ],
      series: [
        {},
        { scale: "sum", stroke: colour.sum, width: 1.5, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) },
        { scale: "reward", stroke: colour.reward, width: 0, fill: colour.reward, points: { show: false }, paths: uPlot.paths.bars({ size: [0.6, 8, 2]}) },
      ],
      hooks: { drawAxes: [(plot) => drawTags(plot, this.drawn, colour)] },
    };
  }
}

function columns({ steps, rewards, sums }) {
  const finite = (values) => values.map((each) => (typeof each === "number" ? each : each === "-0.0" ? 0 : null));
  return [steps, finite(sums), finite(rewards)];
}

/** From the least to the greatest with zero among them and a little room. */
function spread(_, low, high) {
  const least = Math.min(low ?? 0, 0);
  const most = Math.max(high ?? 0, 0);
  if (least === most) return [-1, 1];
  const room = (most - least) * 0.08;
  return [least < 0 ? least - room : 0, most > 0 ? most + room : 0];
}

function coloursOf(place) {
  const style = getComputedStyle(place);
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    muted: read("--muted"), line: read("--line"), accent: read("--accent"), reward: read("--accent"), sum: read("--chart-sum"),
    font: `12px ${style.fontFamily}`, place,
  };
}
