"""The first message to a window: what is played, and how."""

from dataclasses import asdict

from rlds_kit.studio.play.frames_out import WINDOW
from rlds_kit.studio.play.host import Scene
from rlds_kit.studio.play.to_browser import Welcome
from rlds_kit.studio.play.trial_config import DEFAULT_FPS
from rlds_kit.trials.environments.controls import Controls
from rlds_kit.trials.workers.requests import Opened, View


def welcome(session: str, scene: Scene, opened: Opened, view: View, seat: str | None, fps: float | None) -> Welcome:
    """The first message to a window."""
    environment = scene.open.environment
    controls = opened.controls.get(seat or next(iter(opened.controls), "")) or Controls()
    notes = (scene.instructions, scene.notes.get(seat or "", ""))
    return Welcome(
        session=session,
        seat=seat,
        seats=opened.seats,
        policies=tuple(environment.policies),
        seat_number=None if seat is None or seat not in opened.seats else opened.seats.index(seat),
        actors=tuple(scene.actors),
        rules={**asdict(scene.rules), **({"rate": "nobody"} if scene.is_rate_fixed else {})},
        controls={
            "chords": [{"keys": keys, "name": name, "action": action} for keys, action, name in controls.actions],
            "axes": [keys for _, _, keys in controls.axes],
        },
        instructions="\n\n".join(filter(None, notes)),
        environment=environment.name or environment.id,
        cameras=opened.cameras,
        turn=scene.turn,
        fps=fps or DEFAULT_FPS,
        quality=view.quality or scene.quality,
        camera=view.camera,
        window=WINDOW,
    )
