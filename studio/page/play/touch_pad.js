// Buttons on the screen, for phones: a pad of arrows, or a stick where actions are smooth, and a button for each other key.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../html.js";
import { isAnalog, ownCodes } from "./codes.js";
import { actionName, keyName } from "./key_names.js";

const DEAD = 0.22; // of the radius
const SLANT = 0.38; // how far from an axis is still along it: eight directions of about the same size
const MOST_BUTTONS = 8;

/** @param {{player: import("./player.js").Player}} props */
export function TouchPad({ player }) {
  const [isShown] = useState(() => matchMedia("(pointer: coarse)").matches);
  const held = useRef(/** @type {Record<string, Record<string, number>>} */ ({}));
  useEffect(() => () => player.held.set("touch", {}), [player]);
  const { controls } = player.known.welcome;
  if (!isShown) return null;
  const set = (part, keys) => {
    held.current = { ...held.current, [part]: keys };
    player.held.set("touch", Object.assign({}, ...Object.values(held.current)));
  };
  const codes = ownCodes(controls);
  const arrows = codes.filter((code) => code.startsWith("Arrow"));
  const idle = controls.chords.filter(({ name }) => name === "NOOP").flatMap(({ keys }) => keys);
  const others = codes.filter((code) => !idle.includes(code) && !arrows.includes(code) && !(arrows.length > 0 && code.startsWith("Digit")));
  const axes = isAnalog(controls) ? controls.axes.length : 0;
  return html`
    <div class="touch" aria-label="Buttons for touch" role="group">
      ${arrows.length > 0 && html`<${Pad} arrows=${arrows} set=${(keys) => set("pad", keys)} axes=${axes} />`}
      <div class="touch-buttons">
        ${(axes > 0 ? [] : others.slice(0, MOST_BUTTONS)).map((code) => html`<${HoldButton} code=${code} set=${(keys) => set(code, keys)}
          name=${controls.chords.find(({ keys }) => keys.length === 1 && keys[0] === code)?.name ?? ""} />`)}
      </div>
    </div>
  `;
}

function HoldButton({ code, name, set }) {
  const down = (event) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    event.preventDefault();
    set({ [code]: 1 });
  };
  const up = () => set({});
  return html`<button class="touch-button" onPointerDown=${down} onPointerUp=${up} onPointerCancel=${up} onContextMenu=${(event) => event.preventDefault()}>
    ${name ? actionName(name) : keyName(code)}</button>`;
}

function Pad({ arrows, set, axes }) {
  const [at, setAt] = useState(/** @type {[number, number] | null} */ (null));
  const move = (event) => {
    if (event.type === "pointermove" && !event.currentTarget.hasPointerCapture(event.pointerId)) return;
    if (event.type === "pointerdown") event.currentTarget.setPointerCapture(event.pointerId);
    event.preventDefault();
    const box = event.currentTarget.getBoundingClientRect();
    const right = clip((event.clientX - box.left - box.width / 2) / (box.width / 2));
    const down = clip((event.clientY - box.top - box.height / 2) / (box.height / 2));
    setAt([right, down]);
    set(axes ? sticks(right, down, axes) : keysAt(right, down, arrows));
  };
  const up = () => {
    setAt(null);
    set({});
  };
  const knob = at ? { transform: `translate(${at[0] * 42}px, ${at[1] * 42}px)` } : {};
  return html`
    <div class="pad" role="img" aria-label="Arrows" onPointerDown=${move} onPointerMove=${move} onPointerUp=${up} onPointerCancel=${up}>
      ${arrows.map((arrow) => html`<span class=${`pad-arrow ${arrow}`} aria-hidden="true">${keyName(arrow)}</span>`)}
      <span class="knob" style=${knob}></span>
    </div>
  `;
}

function keysAt(right, down, arrows) {
  const far = Math.hypot(right, down);
  if (far < DEAD) return {};
  const wanted = { ArrowRight: right / far, ArrowLeft: -right / far, ArrowDown: down / far, ArrowUp: -down / far };
  return Object.fromEntries(Object.entries(wanted).filter(([key, share]) => share > SLANT && arrows.includes(key)).map(([key]) => [key, 1]));
}

/** As a gamepad's left stick. */
function sticks(right, down, axes) {
  return { ...(Math.abs(right) > DEAD / 2 && { Axis0: right }), ...(axes > 1 && Math.abs(down) > DEAD / 2 && { Axis1: down }) };
}

function clip(value) {
  return Math.max(-1, Math.min(1, value));
}
