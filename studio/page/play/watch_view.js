// Watching while a person plays.
import { useEffect, useState } from "preact/hooks";
import { html } from "../html.js";
import { link } from "../router.js";
import { lookOn } from "./admission.js";
import { PlayerView } from "./player_view.js";
import { usePlayer } from "./use_player.js";

/** @param {{params: URLSearchParams}} props */
export function WatchView({ params }) {
  const session = params.get("session") ?? "";
  const [admission, setAdmission] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const player = usePlayer(admission);
  const open = () => lookOn(session).then(setAdmission, (error) => setProblem(error.message));
  useEffect(() => {
    setProblem("");
    open();
  }, [session]);
  if (problem) return html`<p class="problem" role="alert">${problem}</p>`;
  if (!player) return html`<p class="loading" role="status">Opening the session…</p>`;
  const leave = () => {
    location.hash = link("episodes");
  };
  return html`<${PlayerView} player=${player} study=${null} environment="" again=${open} rejoin=${open} leave=${leave} />`;
}
