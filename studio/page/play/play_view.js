// Playing in a study: opens a session, or goes on with the one of this tab.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { request } from "../api.js";
import { html } from "../html.js";
import { toastError } from "../parts/toasts.js";
import { link, replace } from "../router.js";
import { isReadyFor, knownSession, openSession } from "./admission.js";
import { PlayerView } from "./player_view.js";
import { usePlayer } from "./use_player.js";

/** @param {{params: URLSearchParams}} props */
export function PlayView({ params }) {
  const study = params.get("study") ?? "";
  const environment = params.get("environment") ?? "";
  const session = params.get("session") ?? "";
  const [about, setAbout] = useState(/** @type {any} */ (null));
  const [admission, setAdmission] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const player = usePlayer(admission);
  const requested = useRef(0); // how often; only the answer to the latest counts, and none once one is elsewhere
  useLayoutEffect(() => () => (requested.current += 1), []);

  const open = async (known = null) => {
    const mine = (requested.current += 1);
    setProblem("");
    setAdmission(null);
    try {
      const found = known ?? (await openSession(study, environment));
      if (mine !== requested.current) return;
      replace(link("play", { study, environment, session: found.session }));
      setAdmission({ ...found, isReady: isReadyFor(found.session) });
    } catch (error) {
      if (mine !== requested.current) return;
      if (error.code === "lobby") location.hash = link("lobby", { study, environment });
      else setProblem(error.message);
    }
  };
  useEffect(() => {
    open(session ? knownSession(session) : null);
  }, [study, environment, session]);
  useEffect(() => {
    setAbout(null);
    request(`studies/${encodeURIComponent(study)}`).then((found) => setAbout(found.study), toastError);
  }, [study]);

  const back = link("study", { id: study });
  if (problem) {
    return html`<div class="card empty" role="alert"><h2>This cannot be played now</h2><p>${problem}</p>
      <div class="actions"><button class="primary" onClick=${() => open()}>Try again</button><a class="button" href=${back}>Back to the study</a></div>
    </div>`;
  }
  if (!player) return html`<p class="loading" role="status">Opening a session…</p>`;
  const leave = () => {
    location.hash = back;
  };
  return html`<${PlayerView} key=${admission?.session} player=${player} study=${about} environment=${environment}
    again=${() => open()} rejoin=${() => open({ ...admission })} leave=${leave} />`;
}
