"""Frames on their way to a window."""

from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.studio.play.frame_header import unpack
from rlds_kit.studio.play.frames_out import WINDOW, FramesOut, Shown
from rlds_kit.trials.frames.picture import Codec, Encoded


def shown(step: int, episode: int = 0) -> Shown:
    """A picture that says its step."""
    return Shown(Encoded(Codec.TEXT, str(step).encode()), episode, step, float(step))


@given(st.lists(st.sampled_from(["offer", "next", "acknowledge"]), max_size=80))
def test_only_the_newest_is_sent_and_never_more_than_the_window(does: list[str]) -> None:
    """Every frame is sent, dropped or waits; numbers have no gaps; steps only grow."""
    out = FramesOut()
    offered, sent, acknowledged = 0, [], 0
    for what in does:
        if what == "offer":
            offered += 1
            out.offer(shown(offered))
        elif what == "next":
            data = out.next(0)
            if data is not None:
                header = unpack(data)
                assert header.step == offered
                sent.append(header)
        else:
            is_known = out.acknowledge(acknowledged + 1, 0)
            assert is_known == (acknowledged < len(sent))
            acknowledged += is_known
        assert len(sent) - acknowledged <= WINDOW
    assert [header.sequence for header in sent] == list(range(1, len(sent) + 1))
    assert [header.step for header in sent] == sorted({header.step for header in sent})
    assert offered - len(sent) - out.dropped in {0, 1}


def test_one_acknowledgement_counts_for_all_before_it() -> None:
    """A browser that skips frames need not say so; what comes twice does no harm."""
    out = FramesOut()
    for step in range(WINDOW):
        out.offer(shown(step))
        assert out.next(0)
    out.offer(shown(9))
    assert out.next(0) is None
    assert out.acknowledge(WINDOW, 7_000_000)
    assert out.acknowledge(1, 8_000_000)
    assert out.next(0)
    assert (out.latencies.percentile(50), out.latencies.percentile(100)) == (7.0, 7.0)


def test_a_frame_is_known_by_the_step_that_it_showed() -> None:
    """In the episode that is being played only."""
    out = FramesOut()
    for step, episode in ((5, 0), (0, 1), (1, 1)):
        out.offer(shown(step, episode))
        out.next(0)
    assert [out.step_of(number, 1) for number in (1, 2, 3, 4, None)] == [None, 0, 1, None, None]
    assert not any(out.acknowledge(number, 0) for number in (0, 4, 2**32 - 1))
