// The first gamepad (W3C Gamepad API): buttons as Button0 with 0 to 1, sticks as Axis0 with -1 to 1, unrounded.

const REST = 0.05; // sticks never come back to 0 exactly

/**
 * @param {{changed: (held: Record<string, number>) => void, isActive: () => boolean,
 *   plugged: (name: string | null) => void}} options `plugged`: called with the gamepad that is used, null: none
 * @returns {() => void} stops listening
 */
export function listen({ changed, isActive, plugged }) {
  let requested = 0;
  let name = /** @type {string | null} */ (null);
  let seen = -1;
  let wasActive = false;
  const look = () => {
    requested = requestAnimationFrame(look);
    const pad = first();
    if ((pad?.id ?? null) !== name) {
      name = pad?.id ?? null;
      seen = -1;
      plugged(name);
      if (!pad) changed({});
    }
    const isNow = isActive();
    if (pad && isNow && (pad.timestamp !== seen || !wasActive)) {
      seen = pad.timestamp;
      changed(heldOn(pad));
    }
    if (wasActive && !isNow) changed({}); // it may be released while the page is hidden
    wasActive = isNow;
  };
  look();
  return () => cancelAnimationFrame(requested);
}

function first() {
  return [...(navigator.getGamepads?.() ?? [])].find((pad) => pad?.connected) ?? null;
}

/** @param {Gamepad} pad @returns {Record<string, number>} */
function heldOn(pad) {
  const held = {};
  pad.buttons.forEach(({ pressed, value }, number) => {
    if (pressed || value > 0) held[`Button${number}`] = Math.min(1, value || 1);
  });
  pad.axes.forEach((value, number) => {
    if (Math.abs(value) > REST) held[`Axis${number}`] = Math.max(-1, Math.min(1, value));
  });
  return held;
}
