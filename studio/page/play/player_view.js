// The player: the picture with what stands over it, the bar below, and what there is to read beside it.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { html } from "../html.js";
import { confirmed } from "../parts/dialog.js";
import { link } from "../router.js";
import { announce } from "./announce.js";
import { codesOf } from "./codes.js";
import { SeatChip } from "./company.js";
import { commandsOf } from "./commands.js";
import { ControlBar } from "./control_bar.js";
import { listen } from "./keyboard.js";
import { Overlay } from "./overlay.js";
import { SaveDialog } from "./save_dialog.js";
import { SidePanel } from "./side_panel.js";
import { Stage } from "./stage.js";
import { StatusLine } from "./status_line.js";
import { TouchPad } from "./touch_pad.js";
import { useEventOf } from "./use_player.js";

const PHONE = "(max-width: 720px)";

/**
 * @param {{player: import("./player.js").Player, study: any, environment: string, again: () => void, rejoin: () => void,
 *   leave: () => void, first?: any}} props `again`: in a new session; `rejoin`: in this one; `leave`: shows where one came
 *   from; `first`: markup beside the picture, instead of the button that ends the session
 */
export function PlayerView({ player, study, environment, again, rejoin, leave, first = null }) {
  useEventOf(player, "known");
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  const stage = useRef(/** @type {HTMLElement | null} */ (null));
  const { known } = player;
  const commands = commandsOf(player, frame);

  useLayoutEffect(() => announce(player), [player]);
  useLayoutEffect(
    () =>
      listen({
        codes: () => codesOf(player.known.welcome?.controls),
        changed: (held) => player.isSeated && player.held.set("keyboard", held),
        command: (code) => commandsOf(player, frame).some((each) => each.codes.includes(code) && each.run(code) !== false),
        isActive: () => player.isPlaying,
      }),
    [player],
  );
  useEffect(() => {
    if (!player.isPlaying) return;
    stage.current?.focus({ preventScroll: true });
    if (matchMedia(PHONE).matches) frame.current?.scrollIntoView({ block: "start" });
  }, [known.state?.phase, known.link]);

  const end = async () => {
    const isUnderWay = player.shown.step > 0 && ["running", "paused"].includes(player.phase);
    const question = {
      title: "Leave in the middle of an episode?",
      text: player.isTogether
        ? "The others go on without you, or their episode ends."
        : "It will be recorded as abandoned. To save it, choose “End episode” first.",
      yes: "Leave",
      isDanger: true,
    };
    if (isUnderWay) player.pauseAlone(); // while one reads
    if (isUnderWay && !(await confirmed(question))) return;
    player.send("leave");
    leave();
  };
  const title = known.welcome?.environment ?? study?.environments.find((each) => each.id === environment)?.name ?? "";
  return html`
    <div class="play">
      <div class="heading">
        ${study && html`<a class="crumb" href=${link("study", { id: study.id })}>← ${study.name}</a>`}
        <h1>${title}</h1>
        <${SeatChip} welcome=${known.welcome} />
        ${known.welcome && !player.isSeated && html`<span class="chip accent">You are watching</span>`}
        ${!first && html`<div class="actions"><button onClick=${end}>${player.isSeated ? "End session" : "Stop watching"}</button></div>`}
      </div>
      <div class="play-columns">
        <section class="player" ref=${frame} aria-label="Player">
          <${StatusLine} player=${player} />
          <${Stage} player=${player} place=${stage}>
            <${Overlay} player=${player} again=${again} rejoin=${rejoin} leave=${leave} />
          <//>
          ${player.isSeated && html`<${TouchPad} player=${player} />`}
          <${ControlBar} player=${player} commands=${commands} focusStage=${() => stage.current?.focus({ preventScroll: true })} />
        </section>
        <${SidePanel} player=${player} study=${study} environment=${environment} commands=${commands} first=${first} />
      </div>
      ${known.ask && player.isSeated && html`<${SaveDialog} key=${known.state?.episode} player=${player} ask=${known.ask} />`}
    </div>
  `;
}
