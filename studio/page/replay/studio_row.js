// What the studio knows of an episode beyond its recording: its status, its environment's name, whether one may delete it.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { neighbours } from "../episodes/queue.js";
import { rowOf } from "../episodes/studio_listing.js";
import { confirmed } from "../parts/dialog.js";
import { toast, toastError } from "../parts/toasts.js";
import { link } from "../router.js";

/** @param {string} episode @param {any} about @returns {import("../episodes/listing.js").Row | null} none in `rlds-kit view` */
export function useStudioRow(episode, about) {
  const [row, setRow] = useState(/** @type {import("../episodes/listing.js").Row | null} */ (null));
  useEffect(() => {
    if (about.mode !== "studio") return undefined;
    const controller = new AbortController();
    request(`episodes/${episode.replaceAll("-", "")}`, { signal: controller.signal }).then(
      (found) => setRow(rowOf(found.episode)),
      () => {}, // the recording is shown without
    );
    return () => controller.abort();
  }, [episode, about.mode]);
  return row;
}

/** Deletes an episode after a question, and goes on to the next one. */
export async function deleteEpisode(row, facts) {
  const text = "Its recording is shown and exported no more. This cannot be undone.";
  if (!(await confirmed({ title: "Delete this episode?", text, yes: "Delete", isDanger: true }))) return;
  try {
    await request(`episodes/${row.id}`, { method: "DELETE" });
    toast("The episode is deleted.", "success");
    const { after } = neighbours(facts);
    location.hash = after ? link("replay", { episode: after }) : link("episodes");
  } catch (error) {
    toastError(error);
  }
}
