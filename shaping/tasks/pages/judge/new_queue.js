// A new queue: about what, which question, and how many queries are drawn.
import { useState } from "preact/hooks";
import { request } from "../../api.js";
import { html } from "../../html.js";
import { toastError } from "../../parts/toasts.js";

const KINDS = {
  comparison: "Comparison of two",
  ranking: "Ranking of several",
  rating: "Rating",
  text: "Text",
  marks: "Marks on the picture",
  correction: "Correction",
  demonstration: "Demonstration",
};
const QUESTIONS = {
  comparison: "Which is better?",
  ranking: "Which is the best?",
  rating: "How good is this?",
  text: "What do you see?",
  marks: "What matters here?",
  correction: "What should have been done?",
  demonstration: "Does this show how to do it?",
};
const FIRST = { kind: "comparison", name: "", question: QUESTIONS.comparison, length: "25", count: "50", seed: "0", size: "3", low: "1", high: "5" };

/** @param {{datasets: string[], made: () => void}} props */
export function NewQueue({ datasets, made }) {
  const [given, setGiven] = useState({ ...FIRST, dataset: datasets[0] });
  const set = (name) => (event) => setGiven({ ...given, [name]: event.target.value });
  const setKind = ({ target }) => {
    const isOwn = given.question !== QUESTIONS[given.kind];
    setGiven({ ...given, kind: target.value, question: isOwn ? given.question : QUESTIONS[target.value] });
  };
  const number = (name, label, min) => html`<label>${label}
    <input type="number" min=${min} value=${given[name]} onInput=${set(name)} required=${name !== "length"} /></label>`;
  const make = async (event) => {
    event.preventDefault();
    const numbers = Object.fromEntries(["count", "seed", "size", "low", "high"].map((name) => [name, Number(given[name])]));
    const body = { ...given, ...numbers, length: given.length === "" ? null : Number(given.length) };
    try {
      await request("tasks/judge/queues", { method: "POST", body });
      setGiven({ ...given, name: "" });
      made();
    } catch (error) {
      toastError(error);
    }
  };
  return html`<form class="card stack" onSubmit=${make} aria-label="New queue">
    <h2>New queue</h2>
    <div class="grid">
      <label>Name <input value=${given.name} onInput=${set("name")} required /></label>
      <label>Data <select value=${given.dataset} onChange=${set("dataset")}>${datasets.map((each) => html`<option>${each}</option>`)}</select></label>
      <label>Kind <select value=${given.kind} onChange=${setKind}>${Object.entries(KINDS).map(([kind, title]) => html`<option value=${kind}>${title}</option>`)}</select></label>
      <label>Question <input value=${given.question} onInput=${set("question")} /></label>
      ${number("length", "Steps of a segment (empty: whole episodes)", 1)}
      ${number("count", "Queries", 1)}
      ${given.kind === "ranking" && number("size", "Segments of a query", 2)}
      ${given.kind === "rating" && html`${number("low", "Worst value")}${number("high", "Best value")}`}
      <label>Drawn <select><option>uniformly</option></select></label>
      ${number("seed", "Seed", 0)}
    </div>
    <div class="actions"><button class="primary">Make the queue</button></div>
  </form>`;
}
