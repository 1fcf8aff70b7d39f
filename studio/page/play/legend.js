// What keys do; those that are held light up.
import { html } from "../html.js";
import { isAnalog, ownCodes } from "./codes.js";
import { actionName, keyName } from "./key_names.js";
import { useEventOf } from "./use_player.js";

/** @param {{player: import("./player.js").Player, commands: import("./commands.js").Command[]}} props */
export function Legend({ player, commands }) {
  useEventOf(player, "held");
  const { controls } = player.known.welcome;
  const held = player.held.all;
  const single = controls.chords.filter(({ keys }) => keys.length === 1);
  const named = oneLineEach(single.filter(({ name }) => name && name !== "NOOP"));
  const unnamed = single.filter(({ name }) => !name);
  const idle = single.filter(({ name }) => name === "NOOP");
  const together = controls.chords.filter(({ keys }) => keys.length > 1);
  const arrows = ownCodes(controls).filter((code) => code.startsWith("Arrow"));
  return html`
    <section class="card legend">
      <h2>Keys</h2>
      <dl>
        ${named.map(({ keys, name }) => html`<${Line} keys=${keys} held=${held}>${actionName(name)}<//>`)}
        ${unnamed.length > 0 && html`<${Line} keys=${unnamed.flatMap(({ keys }) => keys)} held=${held}>${named.length ? "other actions" : "act"}<//>`}
        ${idle.map(({ keys }) => html`<${Line} keys=${keys} held=${held}>do nothing<//>`)}
        ${controls.axes.map((moves, number) => html`<${Line} keys=${moves.map(([key]) => key)} held=${held}>axis ${number + 1}<//>`)}
      </dl>
      ${together.length > 0 && html`<details><summary>Keys together (${together.length})</summary><dl>
        ${together.map(({ keys, name }) => html`<${Line} keys=${keys} held=${held} sign="+">${actionName(name)}<//>`)}</dl></details>`}
      <p class="hint">${arrows.length > 1 && "W, A, S and D are arrows, too. "}${player.pad ? `Gamepad: ${player.pad}.` : isAnalog(controls) ? "A gamepad's sticks act smoothly." : "A gamepad works, too."}</p>
      ${commands.length > 0 && html`<dl class="commands">
        ${commands.map(({ codes, title }) => html`<${Line} keys=${codes} held=${{}}>${title.toLowerCase()}<//>`)}</dl>`}
    </section>
  `;
}

/** Keys of the same action stand together. */
function oneLineEach(chords) {
  const lines = new Map();
  for (const { keys, name } of chords) lines.set(name, [...(lines.get(name) ?? []), ...keys]);
  return [...lines].map(([name, keys]) => ({ name, keys }));
}

function Line({ keys, held, sign = "", children }) {
  return html`<div>
    <dt>${keys.map((key, at) => [at > 0 && sign && html`<span aria-hidden="true">${sign}</span>`, html`<kbd class=${key in held ? "down" : ""}>${keyName(key)}</kbd>`])}</dt>
    <dd>${children}</dd>
  </div>`;
}
