// A player for as long as a component is shown, and what is known of its episode.
import { useEffect, useLayoutEffect, useReducer, useState } from "preact/hooks";
import { Player } from "./player.js";

/**
 * It is closed with the component: nothing that is pressed afterwards is played.
 * @param {{session: string, token: string} | null} admission
 * @returns {Player | null}
 */
export function usePlayer(admission) {
  const [player, setPlayer] = useState(/** @type {Player | null} */ (null));
  useLayoutEffect(() => {
    if (!admission) {
      setPlayer(null);
      return undefined;
    }
    const made = new Player(admission);
    setPlayer(made);
    return () => made.close();
  }, [admission]);
  return player;
}

/** Renders anew whenever a player says so. @param {Player} player @param {string} event */
export function useEventOf(player, event) {
  const [, again] = useReducer((count) => count + 1, 0);
  useEffect(() => {
    player.addEventListener(event, again);
    again(undefined); // what happened before this was shown
    return () => player.removeEventListener(event, again);
  }, [player, event]);
}
