// What lets one into a session. A tab keeps it, so that it can be loaded again in the middle of an episode.
import { request } from "../api.js";

const KEY = "rlds-kit-session-";
const READY = "rlds-kit-ready-";

/** @typedef {{session: string, token: string}} Admission */

/** @param {string} study @param {string} environment @returns {Promise<Admission>} */
export async function openSession(study, environment) {
  const { session, token } = await request("sessions", { method: "POST", body: { study, environment } });
  remember(session.id, token);
  return { session: session.id, token };
}

/** @param {string} session @param {string} token @param {{isReady?: boolean}} options `isReady`: the person has waited for this */
export function remember(session, token, { isReady = false } = {}) {
  sessionStorage.setItem(KEY + session, token);
  if (isReady) sessionStorage.setItem(READY + session, "yes");
}

/** Whether the person need not say that they are ready; once. @param {string} session */
export function isReadyFor(session) {
  const isReady = sessionStorage.getItem(READY + session) !== null;
  sessionStorage.removeItem(READY + session);
  return isReady;
}

/** The session that this tab played before. @param {string} session @returns {Admission | null} */
export function knownSession(session) {
  const token = sessionStorage.getItem(KEY + session);
  return token ? { session, token } : null;
}

/** @param {string} session that another person plays @returns {Promise<Admission>} */
export async function lookOn(session) {
  const { token } = await request(`sessions/${encodeURIComponent(session)}/look`, { method: "POST", body: {} });
  return { session, token };
}
