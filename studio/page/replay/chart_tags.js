// Tags of steps, drawn on the chart of rewards: a line over the steps, and the label where there is room.
import { colorOf } from "./labels.js";

const LANE = 4; // pixels of the page
const MOST_LANES = 6;
const ROOM = 6;

/**
 * @param {import("uplot").default} plot
 * @param {import("./profile_chart.js").Drawn} drawn
 * @param {any} colour
 */
export function drawTags(plot, { tags, span }, colour) {
  const { ctx } = plot;
  const ratio = devicePixelRatio || 1;
  const x = (step) => plot.valToPos(step, "x", true);
  const { top, height, left, width } = plot.bbox;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  if (span) band(ctx, colour.accent, 0.16, x(span[0] - 0.5), top, x(span[1] - 0.5), height);
  const labels = [...new Set(tags.map((each) => each.value))];
  ctx.font = `${11 * ratio}px ${getComputedStyle(colour.place).fontFamily}`;
  for (const tag of tags) {
    const lane = labels.indexOf(tag.value) % MOST_LANES;
    const tint = tintOf(colour.place, tag.value);
    const from = x(tag.steps[0] - 0.5);
    const to = Math.max(x(tag.steps[1] - 0.5), from + 2 * ratio);
    band(ctx, tint, 0.12, from, top, to, height);
    ctx.globalAlpha = 1;
    ctx.fillStyle = tint;
    ctx.fillRect(from, top + lane * (LANE + 1) * ratio, to - from, LANE * ratio);
    if (ctx.measureText(tag.value).width + ROOM * ratio < to - from) {
      ctx.fillText(tag.value, from + (ROOM / 2) * ratio, top + (labels.length * (LANE + 1) + 11) * ratio);
    }
  }
  ctx.restore();
}

function band(ctx, tint, alpha, from, top, to, height) {
  ctx.globalAlpha = alpha;
  ctx.fillStyle = tint;
  ctx.fillRect(from, top, to - from, height);
}

/** The colour that the page gives a label, now. */
function tintOf(place, label) {
  const probe = document.createElement("span");
  probe.className = `label ${colorOf(label)}`;
  place.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
