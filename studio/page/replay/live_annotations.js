// What people say of an episode, as it is now: others' words come by a socket, at once.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { request } from "../api.js";

/**
 * @typedef {object} Annotation
 * @property {string} id
 * @property {"tag"|"note"|"return"|"reward"} kind
 * @property {[number, number] | null} steps first, and the one after the last; null: of the episode
 * @property {any} value
 * @property {string} source who said it
 * @property {number} confidence
 * @property {string} layer
 * @property {number} time_ms
 */

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

/**
 * @param {string} episode
 * @param {{annotations: Annotation[], problems: string[]}} first as they were when the episode was opened
 * @param {(length: number, end: string) => void} grow called when steps were added
 */
export function useAnnotations(episode, first, grow) {
  const [said, setSaid] = useState(first);
  const [isLive, setLive] = useState(false);
  const [problem, setProblem] = useState("");
  const added = useRef(/** @type {string[]} */ ([]));
  useEffect(() => follow(episode, setSaid, setLive, grow), [episode]);

  const change = useCallback(async (path, options) => {
    try {
      const answer = await request(`replay/${episode}/annotations${path}`, options);
      setSaid(answer);
      setProblem("");
      return answer.annotations;
    } catch (error) {
      setProblem(error.message);
      return null;
    }
  }, [episode]);
  const { annotations, problems } = said;
  /** @returns {Promise<boolean>} whether it was done */
  const add = useCallback(async (body) => {
    const before = new Set(annotations.map((each) => each.id));
    const after = await change("", { method: "POST", body });
    const found = after?.findLast((each) => !before.has(each.id) && each.kind === body.kind);
    if (found) added.current.push(found.id);
    return after !== null;
  }, [annotations, change]);
  const remove = useCallback(async (id) => (await change(`/${id}`, { method: "DELETE" })) !== null, [change]);
  const undo = useCallback(async () => {
    const there = new Set(annotations.map((each) => each.id));
    let last = added.current.pop();
    while (last && !there.has(last)) last = added.current.pop();
    return last ? remove(last) : false;
  }, [annotations, remove]);
  return { annotations, problems, isLive, problem, setProblem, add, remove, undo };
}

/** Keeps a socket open as long as somebody looks. @returns {() => void} ends it */
function follow(episode, show, setLive, grow) {
  let wait = FIRST_WAIT_MS;
  let timer = 0;
  let isOver = false;
  /** @type {WebSocket} */
  let socket;
  const open = () => {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    socket = new WebSocket(`${scheme}://${location.host}/ws/review?${new URLSearchParams({ episode })}`);
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      wait = FIRST_WAIT_MS;
      setLive(true);
      if (message.type === "annotations") show(message);
      if (message.type === "length") grow(message.length, message.end);
    };
    socket.onclose = () => {
      if (isOver) return;
      setLive(false);
      timer = setTimeout(open, wait);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    };
  };
  open();
  return () => {
    isOver = true;
    clearTimeout(timer);
    socket.close();
  };
}
