// A study as it is being edited, and what is sent of it.

/**
 * @typedef {{key: number, id: string | null, name: string, instructions: string, environment: string,
 *   interface: string | null, seats: any[], together: Record<string, any>, kwargs: Record<string, any>, turn: string, fps: number, max_steps: number | null,
 *   controls: {actions: {name: string, keys: string[]}[], default: number} | null}} DraftEnvironment
 * @typedef {{name: string, description: string, instructions: string, environments: DraftEnvironment[]}} Draft
 */

let keys = 0;

/** @returns {DraftEnvironment} */
export function newEnvironment() {
  keys += 1;
  return { key: keys, id: null, name: "", instructions: "", environment: "", kwargs: {}, turn: "clock", fps: 15, max_steps: null, controls: null, interface: null, seats: [], together: {} };
}

/** @returns {Draft} */
export function newDraft() {
  return { name: "", description: "", instructions: "", environments: [newEnvironment()] };
}

/** @param {any} study as the server gives it, or the content of a version @returns {Draft} */
export function draftOf({ name, description, instructions, environments }) {
  const taken = environments.map((each) => {
    const { id, name: title, instructions: text, environment, kwargs, turn, fps, max_steps: most, controls = null } = each;
    const { interface: kind = null, seats = [], together = {} } = each;
    const own = { id, name: title, instructions: text, environment, kwargs, turn, fps, max_steps: most, controls };
    return { ...newEnvironment(), ...own, interface: kind, seats, together };
  });
  return { name, description, instructions, environments: taken };
}

/** What the server takes. An environment without a name has that of its id. @param {Draft} draft */
export function bodyOf(draft) {
  const environments = draft.environments.map(({ key: _, ...each }) => ({ ...each, name: each.name.trim() || each.environment }));
  return { ...draft, name: draft.name.trim(), environments };
}

/** Whether two drafts would be saved as the same. @param {Draft} one @param {Draft} other */
export function isSame(one, other) {
  return JSON.stringify(bodyOf(one)) === JSON.stringify(bodyOf(other));
}
