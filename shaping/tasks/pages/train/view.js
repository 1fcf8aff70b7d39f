// People train agents: which one, or the training that goes on.
import { html } from "../../html.js";
import { Choice } from "./choice.js";
import { Training } from "./training.js";

addStyle();

/** @param {{params: URLSearchParams}} props */
export function View({ params }) {
  const name = params.get("training");
  if (!name) return html`<${Choice} group=${params.get("group") ?? ""} />`;
  return html`<${Training} key=${params.toString()} name=${name} isNew=${params.get("new") === "1"} group=${params.get("group") ?? ""} />`;
}

function addStyle() {
  const style = document.createElement("link");
  style.rel = "stylesheet";
  style.href = new URL("./train.css", import.meta.url).href;
  document.head.append(style);
}
