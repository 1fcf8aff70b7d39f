"""Sentences and chunks cover a text."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.shaping.manuals.sentences import chunks, sentences

TEXTS = st.text(st.sampled_from("ab.!? \n\t"), max_size=80)


@given(TEXTS)
def test_sentences_cover_all_but_space(text: str) -> None:
    """In order, without overlaps."""
    spans = list(sentences(text))
    assert spans == sorted(spans)
    assert all(first.end <= second.start for first, second in pairwise(spans))
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())


@given(TEXTS, st.integers(1, 5), st.integers(0, 4))
def test_chunks_cover_every_character(text: str, size: int, overlap: int) -> None:
    """No chunk is longer than allowed; neighbours share words."""
    if overlap >= size:
        with pytest.raises(ValueError, match="0 <= overlap < size"):
            list(chunks(text, size, overlap))
        return
    spans = list(chunks(text, size, overlap))
    assert (spans[0].start, spans[-1].end) == (0, len(text))
    assert all(second.start <= first.end for first, second in pairwise(spans))
    parts = [text[start:end].split() for start, end in spans]
    assert all(len(part) <= size for part in parts)
    for first, second in pairwise(parts):
        assert first[len(first) - overlap :] == second[:overlap]


def test_abbreviations_end_no_sentence() -> None:
    text = "MS. PAC-MAN and Dr. No play vs. A. Nother. They win!  Yes?\n\nA heading\n\nEnd"
    assert [text[start:end] for start, end in sentences(text)] == [
        "MS. PAC-MAN and Dr. No play vs. A. Nother.",
        "They win!",
        "Yes?",
        "A heading",
        "End",
    ]


def test_an_answer_across_the_end_of_a_chunk_needs_the_overlap() -> None:
    """What a chunk cuts is whole in the next one."""
    text = "one two three avoid the ghost six seven"
    for overlap, expected in ((0, False), (3, True)):
        found = any(re.search("avoid the ghost", text[start:end]) for start, end in chunks(text, 4, overlap))
        assert found is expected


@pytest.mark.parametrize("part", ["!", "No. ", "?'"])
def test_a_hostile_text_takes_no_longer_than_another(part: str) -> None:
    """The time of 400,000 characters: a tenth of a second; with backtracking it was an hour."""
    text = part * (400_000 // len(part)) + "x"
    (found,) = sentences(text)
    assert found == (0, len(text))
