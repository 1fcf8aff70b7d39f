// The table of `rlds-kit view`: the episodes of one dataset.

const ENDS = ["terminated", "truncated", "interrupted", "incomplete", "open", "damaged"];
const TONES = { terminated: "success", truncated: "accent", open: "warning", damaged: "danger" };

/** @returns {import("./listing.js").Listing} */
export function datasetListing() {
  return {
    columns: [
      { name: "name", title: "Episode", sort: "number" },
      { name: "steps", title: "Steps", sort: "length", isNumber: true },
      { name: "total", title: "Return", sort: "return", isNumber: true },
      { name: "status", title: "Ended", sort: "end" },
      { name: "tags", title: "Tags" },
      { name: "seconds", title: "Duration", sort: "seconds", isNumber: true },
      { name: "started", title: "Recorded", sort: "started" },
    ],
    filters: [
      { name: "text", title: "Search", kind: "search", says: "environment, id or tag" },
      { name: "tag", title: "Tag", kind: "choice", options: ({ tags }) => [["", "any"], ...pairs(tags)] },
      { name: "end", title: "Ended", kind: "choice", options: () => [["", "any way"], ...pairs(ENDS)] },
      { name: "shortest", title: "Steps from", kind: "number" },
      { name: "longest", title: "to", kind: "number" },
    ],
    sort: "number",
    mostRows: 200,
    parameters: ({ sort, ...query }) => {
      const order = sort.startsWith("-") ? "desc" : "";
      const given = Object.entries({ ...query, sort: sort.replace(/^-/, ""), order }).filter(([, value]) => value);
      return new URLSearchParams(given).toString();
    },
    found: ({ episodes, ...about }) => ({ ...about, rows: episodes.map(row) }),
    known: async () => ({}),
    isStudio: false,
  };
}

function row(episode) {
  return {
    id: episode.id,
    name: episode.number,
    environment: episode.environment || episode.id.slice(0, 8),
    steps: episode.length,
    total: episode.return,
    status: episode.end,
    tone: TONES[episode.end] ?? "",
    seconds: episode.seconds,
    started: episode.started ? Date.parse(episode.started) : null,
    tags: episode.tags,
    canTag: true,
    canDelete: false,
  };
}

function pairs(values) {
  return values.map((value) => [value, value]);
}
