// Measures what a device and its link can do, and sends it.
import { useEffect } from "preact/hooks";
import { request } from "../api.js";
import { html } from "../html.js";

const TRIES = 7;

export function Screening({ go }) {
  useEffect(() => {
    latency().then((ms) => go("device", device(ms)));
  }, []);
  return html`<div class="card empty" role="status"><span class="spinner" aria-hidden="true"></span><h2>One moment</h2>
    <p>Your browser and your connection are measured.</p></div>`;
}

/** The median round trip, in milliseconds. */
async function latency() {
  const found = [];
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const began = performance.now();
    await request("about").catch(() => null);
    found.push(performance.now() - began);
  }
  return found.sort((one, other) => one - other)[Math.floor(TRIES / 2)];
}

function device(ms) {
  const isTouch = matchMedia("(pointer: coarse)").matches;
  return {
    width: innerWidth,
    height: innerHeight,
    has_keyboard: !/Android|iPhone|iPad|Mobile/.test(navigator.userAgent),
    is_touch: isTouch,
    browser: browser(),
    latency_ms: Math.round(ms * 10) / 10,
  };
}

function browser() {
  const names = { "Edg/": "edge", "OPR/": "opera", "Firefox/": "firefox", "Chrome/": "chrome", "Safari/": "safari" };
  return Object.entries(names).find(([sign]) => navigator.userAgent.includes(sign))?.[1] ?? "";
}
