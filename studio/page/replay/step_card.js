// The step in numbers: what was done, what it brought, what was observed.
import { useState } from "preact/hooks";
import { short } from "../format.js";
import { html } from "../html.js";
import { StepFacts } from "./step_facts.js";
import { useSum } from "./sum_so_far.js";
import { ValueTree } from "./value_tree.js";

const ABOVE = ["action", "reward", "discount"]; // they stand above the others
const KEY = "rlds-kit-rounded";

/** @param {{values: import("./steps.js").Step, facts: any}} props */
export function StepCard({ values, facts }) {
  const [isRounded, setRounded] = useState(localStorage.getItem(KEY) !== "no");
  const sum = useSum(facts, values.step);
  const change = (event) => {
    setRounded(event.target.checked);
    localStorage.setItem(KEY, event.target.checked ? "yes" : "no");
  };
  const isNest = (field) => ABOVE.includes(field.name) && ["dict", "list", "tuple", "array"].includes(field.value.kind);
  const others = values.fields.filter((field) => !ABOVE.includes(field.name) || (isNest(field) && field.defined));
  return html`
    <section class="card step-card" aria-label="Values of the step">
      <header class="row"><h2>Step <span class="numbers">${values.step}</span></h2>
        <label class="inline small push"><input type="checkbox" checked=${isRounded} onChange=${change} /> 3 decimals</label></header>
      <${StepFacts} values=${values} facts=${facts} sum=${short(sum)} isRounded=${isRounded} />
      <${ValueTree} fields=${others} isRounded=${isRounded} />
    </section>
  `;
}
