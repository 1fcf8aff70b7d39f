// What the keys do to the episode that is shown.
import { neighbours } from "../episodes/queue.js";
import { link } from "../router.js";
import { eventsOf } from "./labels.js";
import { rates } from "./rates.js";
import { useShortcuts } from "./shortcuts.js";
import { following } from "./stage.js";

export function useReplayKeys({ facts, playback, values, shown, show, span, live, tagging, help }) {
  const { step, go, rate, setRate } = playback;
  const around = neighbours(facts);
  const mine = (act) => (...given) => tagging.isAllowed && act(...given);
  useShortcuts({
    go, help,
    move: (by) => go(step + by),
    toLast: () => go(facts.length - 1),
    toggle: playback.toggle,
    changeRate: (by) => setRate(beside(rates(facts.rate, rate), rate, by)),
    toEvent: (by) => go(nextEvent(eventsOf(facts.profile, live.annotations), step, by)),
    toEpisode: (by) => {
      const episode = by > 0 ? around.after : around.before;
      if (episode) location.hash = link("replay", { episode });
    },
    nextPicture: () => values && show(following(values, shown)),
    spanStart: span.begin,
    spanEnd: span.end,
    spanClear: span.clear,
    quickTag: mine((number) => tagging.quick[number] && tagging.toggle(tagging.quick[number])),
    reward: mine((value) => tagging.over[0] < facts.length - 1 && tagging.reward(value)),
    undo: mine(tagging.undo),
    focus: (id) => document.getElementById(id)?.focus(),
  });
}

function beside(all, chosen, by) {
  return all[Math.min(Math.max(all.indexOf(chosen) + by, 0), all.length - 1)];
}

function nextEvent(events, step, by) {
  return (by > 0 ? events.find((each) => each > step) : events.findLast((each) => each < step)) ?? step;
}
