// What the table of episodes asks for and shows: that of a dataset, or that of the studio.
import { datasetListing } from "./dataset_listing.js";
import { studioListing } from "./studio_listing.js";

/**
 * @typedef {object} Row
 * @property {string} id
 * @property {string | number} name
 * @property {string} environment
 * @property {number} steps
 * @property {number | string | null} total reward
 * @property {string} status
 * @property {string} tone class of the chip of the status
 * @property {number | null} seconds
 * @property {number | null} started milliseconds since 1970
 * @property {string[]} tags
 * @property {string} [user]
 * @property {boolean} canTag
 * @property {boolean} canDelete
 */

/**
 * @typedef {object} Filter
 * @property {string} name in the link
 * @property {string} title
 * @property {"search" | "number" | "choice" | "text"} kind
 * @property {string} [says] while it is empty
 * @property {(known: Known) => [string, string][]} [options] value and text
 */

/** @typedef {{tags: string[], studies: [string, string][], users: string[]}} Known what filters offer */
/** @typedef {{rows: Row[], total: number, all: number, page: number, size: number, tags: string[]}} Found */

/**
 * @typedef {object} Listing
 * @property {{name: string, title: string, sort?: string, isNumber?: boolean}[]} columns
 * @property {Filter[]} filters
 * @property {string} sort at first, with "-" before it from the greatest
 * @property {number} mostRows of a page
 * @property {(query: Record<string, string>) => string} parameters of the request, as its query string
 * @property {(answer: any) => Found} found
 * @property {(signal: AbortSignal) => Promise<Partial<Known>>} known what is requested once
 * @property {boolean} isStudio whether episodes can be exported and deleted
 */

/** @param {{mode: string}} about @param {any} me @returns {Listing} */
export function listingOf(about, me) {
  return about.mode === "studio" ? studioListing(me) : datasetListing();
}

/** What is in the link: filters, sorting, page. @param {Listing} listing @param {URLSearchParams} params */
export function queryOf(listing, params) {
  const names = [...listing.filters.map((each) => each.name), "sort", "page", "size"];
  return Object.fromEntries(names.map((name) => [name, params.get(name) ?? ""]));
}
