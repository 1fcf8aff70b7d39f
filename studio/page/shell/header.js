// The header: where one can go, who one is, and the colours.
import { request } from "../api.js";
import { html } from "../html.js";
import { toastError } from "../parts/toasts.js";
import { link } from "../router.js";
import { ThemeSwitch } from "../theme_switch.js";
import { isParticipating, navigation } from "./views.js";

const ICON = new URL("../icon.svg", import.meta.url).pathname;

/** @param {{about: any, me: any, current: string}} props */
export function Header({ about, me, current }) {
  const views = about && !isParticipating() ? navigation(about.mode, me, Boolean(about.crowd)) : [];
  return html`
    <header class="top">
      <a class="brand" href=${isParticipating() ? location.href : "#"}><img src=${ICON} alt="" width="24" height="24" /><span>rlds-kit</span></a>
      ${about?.dataset && html`<span class="dataset" title=${about.path}>${about.dataset}</span>`}
      <nav aria-label="Views">
        ${views.map(
          ({ name, title }) =>
            html`<a href=${link(name)} aria-current=${name === current ? "page" : undefined}>${title}</a>`,
        )}
      </nav>
      ${me && !isParticipating() && html`<${AccountOf} me=${me} />`}
      <${ThemeSwitch} />
    </header>
  `;
}

function AccountOf({ me }) {
  const logOut = async () => {
    try {
      await request("logout", { method: "POST", body: {} });
      location.hash = "";
      dispatchEvent(new Event("loggedout"));
    } catch (error) {
      toastError(error);
    }
  };
  return html`<div class="account">
    <span class="small muted cut" title=${me.name}>${me.name}</span>
    ${me.name !== me.role && html`<span class="chip">${me.role}</span>`}
    ${!me.is_local && html`<button class="quiet" onClick=${logOut}>Log out</button>`}
  </div>`;
}
