// Requests about many episodes at once.
import { request } from "../api.js";

/** @typedef {import("./listing.js").Row} Row */

const MOST_AT_ONCE = 1000; // that the server tags together
const MOST_SELECTED = 20_000;
const PATIENCE_MS = 500;

/** Every episode that the filters leave, on all pages. @returns {Promise<Row[]>} */
export async function allFound(listing, query) {
  const rows = [];
  for (let page = 0; rows.length < MOST_SELECTED; page += 1) {
    const parameters = listing.parameters({ ...query, sort: query.sort || listing.sort, size: String(listing.mostRows), page: String(page || "") });
    const found = listing.found(await request(`episodes?${parameters}`));
    rows.push(...found.rows);
    if (!found.rows.length || rows.length >= found.total) break;
  }
  return rows;
}

/** @param {Row[]} rows @param {string} label @returns {Promise<{added: number, had: number}>} */
export async function tagAll(rows, label) {
  let [added, had] = [0, 0];
  for (let at = 0; at < rows.length; at += MOST_AT_ONCE) {
    const episodes = rows.slice(at, at + MOST_AT_ONCE).map((row) => row.id);
    const done = await request("annotations", { method: "POST", body: { episodes, text: label } });
    added += done.added;
    had += done.had;
  }
  return { added, had };
}

/** @param {Row[]} rows @returns {Promise<Set<string>>} ids of those that are gone */
export async function deleteAll(rows) {
  const gone = new Set();
  for (const row of rows) {
    await patiently(() => request(`episodes/${row.id}`, { method: "DELETE" }));
    gone.add(row.id);
  }
  return gone;
}

/** Waits where the server says that it was too fast. */
async function patiently(act) {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (error.code !== "too_many") throw error;
      await new Promise((done) => setTimeout(done, PATIENCE_MS));
    }
  }
}
