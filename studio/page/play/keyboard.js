// Keys that are held, by their places on the keyboard (KeyboardEvent.code). Shortcuts of the browser stay the browser's.

const FIELDS = "input, select, textarea, [contenteditable], dialog *";
const PRESSABLE = "button, a[href], summary, [role='button']";
const PRESSING = new Set(["Enter", "NumpadEnter", "Space"]);
const NEVER = new Set(["Tab", "CapsLock", "ContextMenu", "MetaLeft", "MetaRight", "AltLeft", "AltRight"]);

/**
 * @param {{codes: () => Set<string>, changed: (held: Record<string, number>) => void,
 *   command: (code: string) => boolean, isActive: () => boolean}} options `codes`: that mean something to the environment;
 *   `command`: does what a key stands for besides, and says whether it did
 * @returns {() => void} stops listening
 */
export function listen({ codes, changed, command, isActive }) {
  const held = new Map();
  const notify = () => changed(Object.fromEntries(held));
  const clear = () => {
    if (held.size === 0) return;
    held.clear();
    notify();
  };
  const down = (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey) {
      clear(); // the system may never say that these keys went up
      return;
    }
    if (NEVER.has(event.code) || event.code === "" || belongsElsewhere(event)) return;
    if (isActive() && codes().has(event.code)) {
      event.preventDefault(); // arrows and space must not move the page
    } else if (!event.repeat && command(event.code)) {
      event.preventDefault();
      return;
    }
    if (event.repeat || held.has(event.code)) return; // what goes down in a pause counts if it is still held after it
    held.set(event.code, 1);
    notify();
  };
  const up = (event) => {
    if (held.delete(event.code)) notify();
  };
  addEventListener("keydown", down);
  addEventListener("keyup", up);
  addEventListener("blur", clear);
  return () => {
    removeEventListener("keydown", down);
    removeEventListener("keyup", up);
    removeEventListener("blur", clear);
  };
}

/** Whether a key is for a field or a button that has the focus. */
function belongsElsewhere(event) {
  const { target } = event;
  if (!(target instanceof Element)) return false;
  return Boolean(target.closest(FIELDS)) || (PRESSING.has(event.code) && Boolean(target.closest(PRESSABLE)));
}
