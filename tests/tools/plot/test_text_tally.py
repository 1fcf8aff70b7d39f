"""`TextTally`: the most frequent texts, in bounded memory."""

from rlds_kit.tools.plot.gather import DISTINCT, PREFIX, TextTally


def test_texts_are_counted() -> None:
    """Each by itself, the empty one too."""
    tally = TextTally()
    tally.add(["up", "", "down", "up"])
    assert tally.counts == {"up": 2, "": 1, "down": 1}


def test_long_texts_count_by_their_beginning() -> None:
    """The stored beginning of a text has a known length."""
    tally = TextTally()
    tally.add(["x" * 1000 + "a", "x" * 1000 + "b", "x" * PREFIX])
    assert tally.counts == {"x" * (PREFIX - 1) + "…": 2, "x" * PREFIX: 1}


def test_texts_that_come_late_are_others() -> None:
    """Those that are known are still counted."""
    tally = TextTally()
    tally.add(str(number) for number in range(DISTINCT + 5))
    tally.add(["0", "late"])
    assert (len(tally.counts), tally.counts["0"], tally.others) == (DISTINCT, 2, 6)
