// Where the page is: `#replay?episode=...&step=17`. Links are shared, so everything that matters is in them.
import { useLayoutEffect, useState } from "preact/hooks";

/** @typedef {{name: string, params: URLSearchParams}} Route `name` is empty where the page begins */

let followed = location.hash; // what the page shows; browsers tell some time later that the address is another

/** @returns {Route} */
export function parse(hash = location.hash) {
  const [name, query = ""] = hash.replace(/^#/, "").split("?", 2);
  return { name, params: new URLSearchParams(query) };
}

/**
 * @param {string} name
 * @param {Record<string, string | number | null | undefined>} params empty ones are left out
 */
export function link(name, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const query = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return `#${name}${query ? `?${query}` : ""}`;
}

/** Changes the link without a new entry in the history, unless it leads elsewhere by now: then one goes there. */
export function replace(target) {
  if (location.hash === target || location.hash !== followed) return;
  history.replaceState(null, "", target);
  followed = location.hash;
}

/** The route, followed. */
export function useRoute() {
  const [route, setRoute] = useState(parse);
  useLayoutEffect(() => {
    const follow = () => {
      followed = location.hash;
      if (followed !== "#main") setRoute(parse()); // where the skip link leads, no route
    };
    addEventListener("hashchange", follow);
    if (location.hash !== followed) follow();
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}
