// What people held when they acted, as it stands on keyboards.

const WRITTEN = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };

/** Keys, and how far they were pressed. @param {import("./steps.js").Person} person @returns {[string, number][]} */
export function held({ keys }) {
  return Object.entries(keys)
    .filter(([, far]) => far !== 0)
    .map(([key, far]) => [WRITTEN[key] ?? key.replace(/^Key(?=[A-Z]$)|^Digit(?=\d$)/, ""), far]);
}
