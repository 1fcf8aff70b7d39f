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
  invite: {
    load: async () => (await import("../login/invite_view.js")).InviteView,
    title: "Invite",
    nav: "invite",
    width: "narrow-view",
  },
};

/** @typedef {{id: string, role: "designer" | "participant" | "reviewer", name: string, is_local: boolean}} Account */

/** The links of the navigation. @param {"view" | "studio"} mode @param {Account | null} me */
export function navigation(mode, me) {
  if (mode === "view") return [{ name: "episodes", title: "Episodes" }];
  if (!me) return [];
  const found = [
    { name: "studies", title: "Studies" },
    { name: "episodes", title: me.role === "participant" ? "My episodes" : "Episodes" },
  ];
  if (me.role !== "participant") found.push({ name: "export", title: "Export" }, { name: "manuals", title: "Manuals" });
  if (me.role === "designer") found.push({ name: "invite", title: "Invite" });
  return found;
}

/** Where the page begins. @param {"view" | "studio"} mode */
export function home(mode) {
  return mode === "view" ? "episodes" : "studies";
}
