// The button that changes between system, light and dark.
import { useState } from "preact/hooks";
import { html } from "./html.js";
import { apply, chosen, next } from "./theme.js";

const SIGNS = {
  system: html`<circle cx="12" cy="12" r="8" /><path d="M12 4a8 8 0 0 1 0 16z" fill="currentColor" />`,
  light: html`<circle cx="12" cy="12" r="4" /><path d="M12 3v2m0 14v2M3 12h2m14 0h2M5.6 5.6 7 7m10 10 1.4 1.4M5.6 18.4 7 17M17 7l1.4-1.4" />`,
  dark: html`<path d="M20 14.5A8 8 0 1 1 9.5 4a6.5 6.5 0 0 0 10.5 10.5z" />`,
};

export function ThemeSwitch() {
  const [theme, setTheme] = useState(chosen);
  const change = () => {
    const following = next(theme);
    apply(following);
    setTheme(following);
  };
  const title = `Colours: ${theme}`;
  return html`<button class="quiet icon-only" onClick=${change} aria-label=${`${title}. Change`} title=${title}>
    <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round"
      stroke-linejoin="round" aria-hidden="true">${SIGNS[theme]}</svg>
  </button>`;
}
