// People judge recorded segments: which queue, or the query that is next.
import { html } from "../../html.js";
import { Choice } from "./choice.js";
import { Queue } from "./queue.js";

const style = document.createElement("link");
style.rel = "stylesheet";
style.href = new URL("./judge.css", import.meta.url).href;
document.head.append(style);

/** @param {{params: URLSearchParams}} props */
export function View({ params }) {
  const queue = params.get("queue");
  return queue ? html`<${Queue} key=${queue} id=${queue} />` : html`<${Choice} />`;
}
