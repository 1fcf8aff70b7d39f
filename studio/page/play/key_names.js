// Names of keys as people know them.

const NAMES = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  Space: "Space",
  Enter: "Enter",
  Escape: "Esc",
  Slash: "/",
  Comma: ",",
  Period: ".",
  Equal: "+",
  Minus: "−",
  NumpadAdd: "Num +",
  NumpadSubtract: "Num −",
};

/** @param {string} code KeyboardEvent.code, or Button0, Axis0 */
export function keyName(code) {
  if (code in NAMES) return NAMES[code];
  const axis = /^Axis(\d+)$/.exec(code);
  if (axis) return `Stick ${Math.floor(Number(axis[1]) / 2) + 1} ${Number(axis[1]) % 2 ? "↕" : "↔"}`;
  return code.replace(/^(Key|Digit)(?=.$)/, "").replace(/^Numpad/, "Num ").replace(/^Button/, "Pad ");
}

/** @param {string} name of an action: "UPRIGHTFIRE" @returns {string} "up right fire" */
export function actionName(name) {
  if (/^-?\d+$/.test(name)) return `action ${name}`;
  if (!/^[A-Z_]+$/.test(name)) return name; // as it was written
  return name
    .replace(/(UP|DOWN)?(LEFT|RIGHT)?(FIRE)?/g, (_all, ...parts) => parts.slice(0, 3).filter(Boolean).join(" "))
    .replaceAll("_", " ")
    .toLowerCase()
    .trim();
}
