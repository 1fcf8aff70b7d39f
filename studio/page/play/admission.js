// What lets one into a session. A tab keeps it, so that it can be loaded again in the middle of an episode.
import { request } from "../api.js";

const KEY = "rlds-kit-session-";

/** @typedef {{session: string, token: string}} Admission */

/** @param {string} study @param {string} environment @returns {Promise<Admission>} */
export async function openSession(study, environment) {
  const { session, token } = await request("sessions", { method: "POST", body: { study, environment } });
  sessionStorage.setItem(KEY + session.id, token);
  return { session: session.id, token };
}

/** The session that this tab played before. @param {string} session @returns {Admission | null} */
export function knownSession(session) {
  const token = sessionStorage.getItem(KEY + session);
  return token ? { session, token } : null;
}

/** @param {string} session that somebody else plays @returns {Promise<Admission>} */
export async function lookOn(session) {
  const { token } = await request(`sessions/${encodeURIComponent(session)}/look`, { method: "POST", body: {} });
  return { session, token };
}
