// The table of the studio: the episodes that a person may see, of all studies.
import { request } from "../api.js";

const STATUSES = ["completed", "cancelled", "rejected", "abandoned", "recording"];
const VALID = "valid"; // in the link; the request leaves out abandoned episodes
const VALID_STATUSES = ["recording", "completed", "cancelled"];
const TONES = { completed: "success", cancelled: "warning", rejected: "danger", recording: "accent" };
const NS = 1e6; // in a millisecond

/** @param {{role: string} | null} me @returns {import("./listing.js").Listing} */
export function studioListing(me) {
  const isParticipant = me?.role === "participant";
  const user = { name: "user", title: "Player", kind: "text", says: "any, or me",
    options: ({ users }) => [["me", "me"], ...pairs(users)] };
  return {
    columns: [
      { name: "started", title: "Recorded", sort: "started" },
      { name: "name", title: "Environment", sort: "environment" },
      { name: "study", title: "Study" },
      { name: "status", title: "Status", sort: "status" },
      { name: "steps", title: "Steps", sort: "steps", isNumber: true },
      { name: "total", title: "Reward", sort: "total_reward", isNumber: true },
      { name: "seconds", title: "Duration", sort: "duration", isNumber: true },
      { name: "tags", title: "Tags" },
      ...(isParticipant ? [] : [{ name: "user", title: "Player" }]),
    ],
    filters: [
      { name: "study", title: "Study", kind: "choice", options: ({ studies }) => [["", "all studies"], ...studies] },
      { name: "status", title: "Status", kind: "choice",
        options: () => [["", "any"], [VALID, "not given up"], ...pairs(STATUSES)] },
      { name: "tag", title: "Tag", kind: "text", says: "any", options: ({ tags }) => pairs(tags) },
      ...(isParticipant ? [] : [user]),
    ],
    sort: "-started",
    mostRows: 500,
    parameters,
    found: (answer) => {
      const rows = answer.episodes.map(rowOf);
      const tags = [...new Set(rows.flatMap((each) => each.tags))].sort();
      return { rows, total: answer.total, all: answer.total, page: answer.page, size: answer.size, tags };
    },
    known: async (signal) => {
      const { studies } = await request("studies", { signal });
      return { studies: studies.map((study) => [study.id, study.name]) };
    },
    isStudio: true,
    canFolder: !isParticipant,
  };
}

function parameters(query) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (!value) continue;
    if (name === "status" && value === VALID) for (const status of VALID_STATUSES) search.append(name, status);
    else search.append(name, value);
  }
  return search.toString();
}

/** @param {any} episode as the server has it @returns {import("./listing.js").Row} */
export function rowOf(episode) {
  const isOver = episode.ended_ns !== null;
  return {
    id: episode.id,
    name: episode.environment_name,
    environment: `Episode ${episode.number + 1}`, // as the player counts them
    study: episode.study_name,
    steps: episode.steps,
    total: episode.total_reward,
    status: episode.status,
    tone: TONES[episode.status] ?? "",
    seconds: isOver ? (episode.ended_ns - episode.started_ns) / NS / 1000 : null,
    started: episode.started_ns / NS,
    tags: episode.tags,
    user: episode.is_own ? "me" : episode.user,
    watched: episode.status === "recording" && !episode.is_own ? episode.session : null,
    canTag: episode.can_tag,
    canDelete: episode.can_delete && episode.status !== "recording",
  };
}

function pairs(values) {
  return values.map((value) => [value, value]);
}
