"""Pictures ahead on their way to a window: few, and none for a link that is slow."""

from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.studio.play.ahead_out import MOST_BYTES, AheadOut, Possible
from rlds_kit.studio.play.frame_header import SIZE, Flags, unpack
from rlds_kit.trials.frames.picture import Codec, Encoded


def possible(step: int, action: int, size: int = 10) -> Possible:
    """A picture of so many bytes."""
    return Possible(0, step, action, Encoded(Codec.PNG, bytes(size)))


def sent(out: AheadOut) -> list[tuple[int, int]]:
    """Step and action of all that is sent now."""
    found = []
    while (data := out.next(0)) is not None:
        header = unpack(data)
        assert header.flags is Flags.AHEAD
        found.append((header.step, header.action))
    return found


@given(st.lists(st.tuples(st.sampled_from(["offer", "next", "received", "step"]), st.integers(0, 40_000)), max_size=60))
def test_never_more_bytes_are_under_way_and_nothing_is_lost_of_the_count(does: list[tuple[str, int]]) -> None:
    """Every picture is sent, dropped or waits; what was not received is bounded."""
    out, step, offered, sizes, received = AheadOut(), 1, 0, list[int](), 0
    for what, number in does:
        if what == "offer":
            offered += 1
            out.offer(possible(step, offered, number))
        elif what == "next":
            data = out.next(0)
            if data is not None:
                assert unpack(data).sequence == len(sizes) + 1
                sizes.append(len(data) - SIZE)
        elif what == "received" and sizes:
            received = max(received, number % (len(sizes) + 1))
            assert out.received(received) == (received > 0)
        elif what == "step":
            step += 1
            out.forget()
        assert sum(sizes[received:]) <= MOST_BYTES
    waiting = len(sent(out)) + out.dropped + len(sizes)
    assert waiting == offered
    assert not out.received(out.sent + 1)


def test_a_link_that_has_not_taken_the_last_ones_gets_no_others() -> None:
    """So the true picture never waits behind those of several steps."""
    out = AheadOut()
    for action in range(3):
        out.offer(possible(1, action))
    assert sent(out) == [(1, 0), (1, 1), (1, 2)]
    out.forget()
    out.received(2)
    out.offer(possible(2, 0))
    assert sent(out) == []
    out.received(3)
    out.offer(possible(2, 1))
    assert sent(out) == []  # not some of them: the page would show some keys at once, and others late
    out.offer(possible(3, 0))
    assert sent(out) == [(3, 0)]
    assert (out.sent, out.dropped) == (4, 2)
    known = out.possible(4)
    assert known is not None
    assert (known.step, known.action, known.picture.data) == (3, 0, b"")
    assert out.possible(9) is None
