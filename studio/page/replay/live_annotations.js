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
 * @param {{annotations: Annotation[], problems: string[], source: string}} first as they were when the episode was
 *   opened, and who one is
 * @param {(length: number, end: string) => void} grow called when steps were added
 */
export function useAnnotations(episode, first, grow) {
  const [known, setKnown] = useState(first);
  const [isLive, setLive] = useState(false);
  const [problem, setProblem] = useState("");
  const added = useRef(/** @type {string[]} */ ([]));
  const adding = useRef(Promise.resolve(true));
  const isCurrent = useRef(false);
  const linked = (isNow) => {
    isCurrent.current = isNow;
    setLive(isNow);
  };
  useEffect(() => follow(episode, setKnown, linked, grow), [episode]);

  const change = useCallback(async (path, options) => {
    try {
      const answer = await request(`replay/${episode}/annotations${path}`, options);
      if (!isCurrent.current) setKnown(answer); // else the socket has sent it already, and perhaps newer ones
      setProblem("");
      return answer.annotations;
    } catch (error) {
      setProblem(error.message);
      return null;
    }
  }, [episode]);
  const { annotations, problems } = known;
  const there = useRef(annotations);
  there.current = annotations;
  /** @returns {Promise<boolean>} whether it was done */
  const add = useCallback((body) => {
    const before = new Set(there.current.map((each) => each.id));
    const isOwn = (each) => !before.has(each.id) && each.kind === body.kind && each.source === first.source;
    adding.current = change("", { method: "POST", body }).then((after) => {
      const own = after?.findLast(isOwn);
      if (own) added.current.push(own.id);
      return after !== null;
    });
    return adding.current;
  }, [change, first.source]);
  const remove = useCallback(async (id) => {
    added.current = added.current.filter((each) => each !== id);
    return (await change(`/${id}`, { method: "DELETE" })) !== null;
  }, [change]);
  const undo = useCallback(async () => {
    await adding.current; // what the socket has shown may not be answered yet
    const last = added.current.at(-1);
    return last ? remove(last) : false;
  }, [remove]);
  return { annotations, problems, isLive, problem, setProblem, add, remove, undo };
}

/** Keeps a socket open as long as the page is shown. @returns {() => void} ends it */
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
