// Logging in: by a link of one's own, by an invitation and a name, or by the permalink of a study.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { html } from "../html.js";
import { link, replace } from "../router.js";
import { NameForm } from "./name_form.js";
import { PasteLink } from "./paste_link.js";
import { StudyEntry, studyOfLink } from "./study_entry.js";

const OTHERWISE = "Or, if you have a link of your own, paste it here.";
const ICON = new URL("../icon.svg", import.meta.url).pathname;

/**
 * @param {{params: URLSearchParams, me: any, done: () => Promise<void>}} props `done` asks again who one is
 */
export function LoginView({ params, me, done }) {
  const [problem, setProblem] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const [other, setOther] = useState(/** @type {object | null} */ (null)); // a login that takes logging out before
  const given = tokens(params);
  const study = given.token || given.invitation ? "" : studyOfLink();
  const logIn = async (body) => {
    setIsBusy(true);
    setProblem("");
    setOther(null);
    try {
      await request("login", { method: "POST", body });
      forget();
      await done();
    } catch (error) {
      setProblem(error.message);
      if (error.code === "other_login") setOther(body);
    }
    setIsBusy(false);
  };
  const change = () => request("logout", { method: "POST", body: {} }).then(() => logIn(other), (error) => setProblem(error.message));
  useEffect(() => {
    document.title = "Log in · rlds-kit";
    if (given.token) logIn({ token: given.token });
    else if (me && !given.invitation) forget();
  }, [given.token]);

  const withName = (name, email) =>
    logIn({ name, ...(email && { email }), invitation: given.invitation });
  return html`
    <div class="login card">
      <img src=${ICON} alt="" width="48" height="48" />
      <h1>${given.invitation ? "You are invited" : "Welcome"}</h1>
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
      ${other && html`<div class="actions"><button class="primary" onClick=${change}>Log out, and use the link</button></div>`}
      ${given.token && !problem && html`<p role="status">Logging in…</p>`}
      ${given.invitation && html`<${NameForm} submit=${withName} isBusy=${isBusy} />`}
      ${study && html`<${StudyEntry} submit=${logIn} study=${study} isBusy=${isBusy} />`}
      ${!given.invitation && (!given.token || problem) && html`<${PasteLink} submit=${(token) => logIn({ token })} isBusy=${isBusy}
        hint=${study ? OTHERWISE : "This studio is for people with a link. Open yours, or paste it here."} />`}
    </div>
  `;
}

/** Tokens of links `#login?token=` and `/?token=`, likewise `invitation`. */
function tokens(params) {
  const search = new URLSearchParams(location.search);
  const of = (name) => params.get(name) || search.get(name) || "";
  return { token: of("token"), invitation: of("invitation") };
}

/** Takes tokens out of the address, and goes where the link led besides. */
function forget() {
  if (location.search) history.replaceState(null, "", location.pathname + location.hash);
  const [name, query = ""] = location.hash.replace(/^#/, "").split("?", 2);
  if (name !== "login") return;
  const next = new URLSearchParams(query).get("next") ?? "";
  replace(/^[a-z]+(\?|$)/.test(next) ? `#${next}` : link(""));
  dispatchEvent(new Event("hashchange"));
}
