// What the page knows of an episode: a state, and how each message of the server changes it. No input or output.

/**
 * @typedef {{link: string, reason: string, welcome: any, state: any, ask: any, saved: any[], drivers: Record<string, string>,
 *   judged: any, company: {seat: string, state: string, program: string}[] | null,
 *   texts: {sender: string, content: string}[], votes: Record<string, any>, warning: string}} Known `judged`: the latest reward
 *   that a person gave; `warning`: that the link is too slow
 */

/** @type {Known} */
export const NOTHING_KNOWN = { link: "connecting", reason: "", welcome: null, state: null, ask: null, saved: [], drivers: {}, judged: null, company: null, texts: [], votes: {}, warning: "" };
const MOST_SAVED = 50;
const MOST_TEXTS = 200;

/** @param {Known} known @param {any} message @returns {Known} */
export function follow(known, message) {
  switch (message.type) {
    case "welcome":
      return { ...known, welcome: message, saved: [...message.saved].reverse(), reason: "", warning: "" };
    case "link":
      return { ...known, warning: message.warning };
    case "look":
      return { ...known, welcome: { ...known.welcome, quality: message.quality, camera: message.camera } };
    case "state":
      return {
        ...known,
        state: message,
        ask: message.phase === "confirming" ? known.ask : null,
        drivers: message.episode === known.state?.episode ? known.drivers : {},
        judged: message.episode === known.state?.episode ? known.judged : null,
      };
    case "ask":
      return { ...known, ask: message };
    case "saved":
      return { ...known, ask: null, saved: [message, ...known.saved].slice(0, MOST_SAVED) };
    case "driver":
      return { ...known, drivers: { ...known.drivers, [message.seat]: message.driver } };
    case "participants":
      return { ...known, company: message.seats };
    case "votes":
      return { ...known, votes: { ...known.votes, [message.about]: message } };
    case "said":
      return { ...known, texts: [...known.texts, message].slice(-MOST_TEXTS) };
    case "amended":
      return { ...known, judged: message };
    case "notice":
      return message.code === "ended" ? { ...known, reason: message.message } : known;
    case "error":
      return known.welcome ? known : { ...known, reason: message.message };
    default:
      return known;
  }
}

/** @param {Known} known @param {string} link @param {string} reason @returns {Known} */
export function linked(known, link, reason) {
  const isOver = !["connecting", "open", "lost"].includes(link);
  return { ...known, link, ask: link === "open" || isOver ? null : known.ask, reason: known.reason || (isOver ? reason : "") };
}
