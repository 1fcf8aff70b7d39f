// Which views there are, by the name in the link. A view is loaded when it is looked at.

/**
 * @typedef {{load: () => Promise<any>, title: string, width?: string, nav?: string, needsAccount?: boolean}} View
 * `nav`: the part of the navigation it belongs to; `width`: class of <main>.
 */

/** @type {Record<string, View>} */
export const VIEWS = {
  studies: {
    load: async () => (await import("../studies/studies_view.js")).StudiesView,
    title: "Studies",
    nav: "studies",
  },
  study: { load: async () => (await import("../studies/study_view.js")).StudyView, title: "Study", nav: "studies" },
  edit: { load: async () => (await import("../studies/editor_view.js")).EditorView, title: "Edit study", nav: "studies" },
  play: {
    load: async () => (await import("../play/play_view.js")).PlayView,
    title: "Play",
    nav: "studies",
    width: "wide-view",
  },
  lobby: {
    load: async () => (await import("../play/lobby_view.js")).LobbyView,
    title: "Lobby",
    nav: "studies",
    width: "narrow-view",
  },
  watch: {
    load: async () => (await import("../play/watch_view.js")).WatchView,
    title: "Watch",
    nav: "studies",
    width: "wide-view",
  },
  episodes: { load: async () => (await import("../episodes/episodes_view.js")).EpisodesView, title: "Episodes", nav: "episodes" },
  replay: {
    load: async () => (await import("../replay/replay_view.js")).ReplayView,
    title: "Replay",
    nav: "episodes",
    width: "wide-view",
  },
  manuals: { load: async () => (await import("../manuals/manuals_view.js")).ManualsView, title: "Manuals", nav: "manuals" },
  manual: { load: async () => (await import("../manuals/manual_view.js")).ManualView, title: "Manual", nav: "manuals" },
  export: { load: async () => (await import("../export/export_view.js")).ExportView, title: "Export", nav: "export" },
  crowd: {
    load: async () => (await import("../crowd/experimenter_view.js")).ExperimenterView,
    title: "Crowd",
    nav: "crowd",
  },
  participate: {
    load: async () => (await import("../crowd/participant_view.js")).ParticipantView,
    title: "Study",
    width: "wide-view",
  },
  invite: {
    load: async () => (await import("../login/invite_view.js")).InviteView,
    title: "Invite",
    nav: "invite",
    width: "narrow-view",
  },
};

/** @type {{name: string, title: string}[]} */
const tasks = [];

/**
 * Views of what this server has besides: each brings a module of its own.
 * @param {{name: string, title: string}[]} given
 */
export function addTasks(given) {
  for (const { name, title } of given) {
    const view = `task-${name}`;
    if (VIEWS[view]) continue;
    const load = async () => (await import(`../tasks/${name}/view.js`)).View;
    VIEWS[view] = { load, title, nav: view, width: "wide-view" };
    tasks.push({ name: view, title });
  }
}

/** @typedef {{id: string, role: "designer" | "participant" | "reviewer", name: string, is_local: boolean}} Account */

/** Whether the address is the link of participants of a crowd, who see nothing else. */
export function isParticipating() {
  return location.pathname.startsWith("/crowd/");
}

/** The links of the navigation. @param {"view" | "studio"} mode @param {Account | null} me @param {boolean} hasCrowd */
export function navigation(mode, me, hasCrowd = false) {
  if (mode === "view") return [{ name: "episodes", title: "Episodes" }];
  if (!me) return [];
  const found = [
    { name: "studies", title: "Studies" },
    ...tasks,
    { name: "episodes", title: me.role === "participant" ? "My episodes" : "Episodes" },
  ];
  if (me.role !== "participant") found.push({ name: "export", title: "Export" }, { name: "manuals", title: "Manuals" });
  if (me.role === "designer" && hasCrowd) found.push({ name: "crowd", title: "Crowd" });
  if (me.role === "designer") found.push({ name: "invite", title: "Invite" });
  return found;
}

/** Where the page begins. @param {"view" | "studio"} mode */
export function home(mode) {
  return mode === "view" ? "episodes" : "studies";
}
