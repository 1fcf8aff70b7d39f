"""The first message to a window: what is played, and how."""

from rlds_kit.studio.play.frames_out import WINDOW
from rlds_kit.studio.play.host import Scene
from rlds_kit.studio.play.to_browser import Welcome
from rlds_kit.studio.play.trial_config import DEFAULT_FPS
from rlds_kit.trials.workers.requests import Opened, View


def welcome(session: str, scene: Scene, opened: Opened, view: View, seat: str | None, fps: float | None) -> Welcome:
    """The first message to a window."""
    controls, environment = opened.controls[seat or opened.seats[0]], scene.open.environment
    return Welcome(
        session=session,
        seat=seat,
        seats=opened.seats,
        policies=tuple(environment.policies),
        controls={
            "chords": [{"keys": keys, "name": name} for keys, _, name in controls.actions],
            "axes": [keys for _, _, keys in controls.axes],
        },
        instructions=scene.instructions,
        environment=environment.name or environment.id,
        cameras=opened.cameras,
        turn=scene.turn,
        fps=fps or DEFAULT_FPS,
        quality=view.quality or scene.quality,
        camera=view.camera,
        window=WINDOW,
    )
