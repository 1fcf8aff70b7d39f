// The frame of the page: asks what the server is and who one is, then shows the view of the link.
import { useCallback, useEffect, useState } from "preact/hooks";
import { ApiError, request } from "../api.js";
import { html } from "../html.js";
import { LoginView } from "../login/login_view.js";
import { Toasts } from "../parts/toasts.js";
import { parse, useRoute } from "../router.js";
import { Header } from "./header.js";
import { Loaded } from "./loaded.js";
import { addTasks, home, isParticipating, VIEWS } from "./views.js";

export function Shell() {
  const route = useRoute();
  const [about, setAbout] = useState(null);
  const [me, setMe] = useState(/** @type {any} */ (undefined)); // null: not logged in
  const [problem, setProblem] = useState("");

  const ask = useCallback(async () => {
    try {
      const found = await request("about");
      setMe(found.mode === "studio" && !hasLink() && !isParticipating() ? await whoAmI() : null);
      addTasks(found.tasks ?? []);
      setAbout(found);
      setProblem("");
      forgetToken();
    } catch (error) {
      setProblem(error.message);
    }
  }, []);
  useEffect(() => {
    ask();
    const loggedOut = () => setMe(null);
    addEventListener("loggedout", loggedOut);
    return () => removeEventListener("loggedout", loggedOut);
  }, [ask]);

  const name = isParticipating() ? "participate" : route.name || (about ? home(about.mode) : "");
  const isLogin = !isParticipating() && about?.mode === "studio" && (!me || name === "login");
  const view = isLogin ? { width: "narrow-view" } : VIEWS[name];
  return html`
    <${Header} about=${about} me=${me} current=${VIEWS[name]?.nav ?? ""} />
    <main id="main" tabindex="-1" class=${view?.width ?? ""}>
      ${problem && html`<div class="problem row" role="alert">${problem} <button class="push" onClick=${ask}>Try again</button></div>`}
      ${!problem && !about && html`<p class="loading" role="status">Loading…</p>`}
      ${about && isLogin && html`<${LoginView} params=${route.params} me=${me} done=${ask} />`}
      ${about && !isLogin && html`<${Loaded} name=${name} params=${route.params} about=${about} me=${me} />`}
    </main>
    <${Toasts} />
  `;
}

/** Whether the address itself says who comes: then whoever was here before does not matter. */
function hasLink() {
  const { name, params } = parse();
  return name === "login" && (params.has("token") || params.has("invitation"));
}

async function whoAmI() {
  try {
    return (await request("me")).account;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

/** The cookie is set by now: the token of `rlds-kit view` need not stay in the address, or on a screenshot. */
function forgetToken() {
  if (new URLSearchParams(location.search).has("token")) history.replaceState(null, "", location.pathname + location.hash);
}
