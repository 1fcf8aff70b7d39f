// The order in which the table listed episodes: the replay goes on in it from one to the next, and back to the table.
import { link } from "../router.js";

const KEY = "rlds-kit-queue";

/** Called by the table with what it lists, and its link. @param {string[]} ids @param {string} table */
export function remember(ids, table) {
  sessionStorage.setItem(KEY, JSON.stringify({ ids, table }));
}

/**
 * The episodes around one: those of the table as it was listed, else those of the dataset.
 * @param {{id: string, before: string | null, after: string | null}} facts
 * @returns {{before: string | null, after: string | null}}
 */
export function neighbours(facts) {
  const plain = facts.id.replaceAll("-", "");
  const { ids } = remembered();
  const at = ids.findIndex((id) => id.replaceAll("-", "") === plain);
  if (at < 0) return { before: facts.before, after: facts.after };
  return { before: ids[at - 1] ?? null, after: ids[at + 1] ?? null };
}

/** The table as it was looked at last. */
export function tableLink() {
  return remembered().table;
}

/** @returns {{ids: string[], table: string}} */
function remembered() {
  const found = sessionStorage.getItem(KEY);
  return found ? JSON.parse(found) : { ids: [], table: link("episodes") };
}
