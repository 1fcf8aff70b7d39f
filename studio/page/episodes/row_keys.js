// Arrow keys in the table: up and down from row to row, in the same column.

/** @param {KeyboardEvent} event */
export function rowKeys(event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const from = /** @type {HTMLElement} */ (event.target);
  const row = from.closest("tbody tr");
  if (!by || !row || event.ctrlKey || event.metaKey || event.altKey) return;
  const next = by > 0 ? row.nextElementSibling : row.previousElementSibling;
  const kind = from.matches("input") ? "input" : "a";
  const target = /** @type {HTMLElement | null | undefined} */ (next?.querySelector(kind));
  if (!target) return;
  event.preventDefault();
  target.focus();
}
