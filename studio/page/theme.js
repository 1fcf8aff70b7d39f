// Light, dark, or as the system has it.

const KEY = "rlds-kit-theme";
const CHOICES = ["system", "light", "dark"];

/** @returns {string} */
export function chosen() {
  const stored = localStorage.getItem(KEY);
  return CHOICES.includes(stored ?? "") ? /** @type {string} */ (stored) : "system";
}

/** @param {string} theme */
export function apply(theme) {
  if (theme === "system") {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(KEY, theme);
    document.documentElement.dataset.theme = theme;
  }
  dispatchEvent(new Event("themechange")); // charts draw their own colours
}

/** The theme after this one. @param {string} theme */
export function next(theme) {
  return CHOICES[(CHOICES.indexOf(theme) + 1) % CHOICES.length];
}
