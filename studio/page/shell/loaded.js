// A view, once its module is there.
import { useEffect, useState } from "preact/hooks";
import { html } from "../html.js";
import { VIEWS } from "./views.js";

/** @param {{name: string, params: URLSearchParams, about: any, me: any}} props */
export function Loaded({ name, params, about, me }) {
  const [loaded, setLoaded] = useState({ name: "", View: null, problem: "" });
  useEffect(() => {
    const view = VIEWS[name];
    if (!view) return undefined;
    let isWanted = true;
    document.title = `${view.title} · rlds-kit`;
    view.load().then(
      (View) => isWanted && setLoaded({ name, View, problem: "" }),
      (error) => isWanted && setLoaded({ name, View: null, problem: error.message }),
    );
    return () => {
      isWanted = false;
    };
  }, [name]);
  if (!VIEWS[name]) {
    return html`<div class="empty" role="alert"><h2>There is no page “${name}”</h2><a href="#">Go to the start</a></div>`;
  }
  if (loaded.name !== name) return html`<p class="loading" role="status">Loading…</p>`;
  if (loaded.problem) return html`<p class="problem" role="alert">This page could not be loaded: ${loaded.problem}</p>`;
  const { View } = loaded;
  return html`<${View} params=${params} about=${about} me=${me} />`;
}
