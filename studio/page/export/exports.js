// One's exports as the server has them: begun, followed, called off, deleted.
import { useCallback, useEffect, useState } from "preact/hooks";
import { request } from "../api.js";

const FOLLOW_MS = 400;
const OVER = ["done", "failed", "cancelled"];

/**
 * @typedef {object} Export
 * @property {string} id
 * @property {string} name
 * @property {boolean} archive
 * @property {number} episodes that were chosen
 * @property {{strip: boolean, end_tags: string[], tag_columns: boolean, format: string}} rules
 * @property {number} created_ns
 * @property {"waiting" | "running" | "done" | "failed" | "cancelled"} state
 * @property {number} progress from 0 to 1
 * @property {string} error
 * @property {string | null} path of a folder, for designers
 * @property {any} report when it is done
 * @property {boolean} can_retry whether it may help to try again
 * @property {number | null} expires_ns when it is deleted, once it is over
 */

/** @param {Export} each */
export function isOver(each) {
  return OVER.includes(each.state);
}

/** All of one's exports, the newest first; requested again while one of them is being made, or no answer came. */
export function useExports() {
  const [all, setAll] = useState(/** @type {Export[] | null} */ (null));
  const [problem, setProblem] = useState("");
  const [lost, setLost] = useState({ says: "" }); // why the request failed; it is sent again
  const follow = useCallback(async (signal) => {
    try {
      setAll((await request("exports", { signal })).exports);
      setLost({ says: "" });
    } catch (error) {
      if (error.name !== "AbortError") setLost({ says: error.message });
    }
  }, []);
  const isWaiting = all === null || lost.says !== "" || !all.every(isOver);
  useEffect(() => {
    if (!isWaiting) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => follow(controller.signal), all === null && !lost.says ? 0 : FOLLOW_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [all, lost, isWaiting]);
  /** Does something, then looks again. @returns {Promise<any>} the answer; null if it was refused */
  const act = useCallback(async (path, options) => {
    try {
      const answer = await request(`exports${path}`, options);
      setProblem("");
      await follow();
      return answer;
    } catch (error) {
      setProblem(error.message);
      return null;
    }
  }, [follow]);
  return {
    all,
    problem: problem || lost.says,
    /** @returns {Promise<Export | undefined>} */
    start: async (body) => (await act("", { method: "POST", body }))?.export,
    remove: (id) => act(`/${id}`, { method: "DELETE" }),
    again: (id) => act(`/${id}/again`, { method: "POST", body: {} }),
  };
}
