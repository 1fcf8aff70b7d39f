"""What the windows of a session are sent, in which order."""

import time

from rlds_kit.studio.play.audience import Audience
from rlds_kit.studio.play.frame_header import NO_FLAGS, unpack
from rlds_kit.studio.play.frames_out import WINDOW
from rlds_kit.studio.play.host import Admission
from rlds_kit.studio.play.to_browser import State
from rlds_kit.studio.play.window import Window
from rlds_kit.trials import Phase
from rlds_kit.trials.frames.picture import Codec, Encoded

PICTURE = Encoded(Codec.TEXT, b"@")


def _state(episode: int, phase: Phase) -> State:
    return State(phase, 0, {"player": 0.0}, 30.0, episode=episode, seconds=None)


def test_no_frame_of_an_episode_is_sent_after_the_state_of_the_next() -> None:
    """Frames wait for acknowledgements and messages do not: a page would take the frame for one of the next episode."""
    audience, window = Audience(), Window("tab", Admission("s", "ann", "player"))
    audience.windows["tab"] = window
    audience.show_state(_state(0, Phase.RUNNING))
    for step in range(WINDOW + 1):
        audience.show(PICTURE, 0, step, NO_FLAGS)
        assert (window.frames.next(time.monotonic_ns()) is not None) == (step < WINDOW)
    audience.show_state(_state(0, Phase.CONFIRMING))
    assert window.frames.is_waiting  # the last picture of the episode
    audience.show_state(_state(1, Phase.WAITING))
    assert window.frames.acknowledge(WINDOW, time.monotonic_ns())
    assert window.frames.next(time.monotonic_ns()) is None
    audience.show(PICTURE, 1, 0, NO_FLAGS)
    audience.show_state(_state(1, Phase.RUNNING))
    frame = window.frames.next(time.monotonic_ns())
    assert frame is not None
    assert (unpack(frame).step, window.frames.dropped) == (0, 1)
