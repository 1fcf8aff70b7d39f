"""Sentences, words and chunks of a text, each with its place in the text."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

_END: Final = re.compile(r"(?<![.!?])[.!?]+[\"')\]]*(?=\s|$)|\n\s*\n")
"""It begins at the first of several dots only, so that a text of dots takes no longer than one of words."""
_ABBREVIATION: Final = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|No|vs|etc|e\.g|i\.e|[A-Z])\.$", re.IGNORECASE)
_LONGEST_ABBREVIATION: Final = len("etc.")
_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")


class Span(NamedTuple):
    """A part of a text: characters `start` to `end`, without `end`."""

    start: int
    end: int


def sentences(text: str) -> Iterator[Span]:
    """Yields the sentences of a text in order, without the space around them.

    A dot after an abbreviation ("MS. PAC-MAN") ends no sentence; an empty line does.

    >>> text = "MS. PAC-MAN eats dots. Avoid ghosts!"
    >>> [text[start:end] for start, end in sentences(text)]
    ['MS. PAC-MAN eats dots.', 'Avoid ghosts!']
    """
    start = 0
    for found in _END.finditer(text):
        if not _ABBREVIATION.search(text, max(start, found.end() - _LONGEST_ABBREVIATION), found.end()):
            yield from _stripped(text, start, found.end())
            start = found.end()
    yield from _stripped(text, start, len(text))


def _stripped(text: str, start: int, end: int) -> Iterator[Span]:
    part = text[start:end]
    if part.strip():
        yield Span(start + len(part) - len(part.lstrip()), start + len(part.rstrip()))


def words(text: str) -> list[str]:
    """The words of a text in lower case, plurals and verbs reduced to their stems.

    >>> words("Ghosts are chasing; don't touch them: enemies kill.")
    ['ghost', 'are', 'chas', "don't", 'touch', 'them', 'enemy', 'kill']
    """
    return [stem(word) for word in _WORD.findall(text.lower())]


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The word without its ending: coarse, but the same for all forms of most words.

    >>> [stem(word) for word in ("bricks", "loses", "losing", "lost", "points", "class", "avoided")]
    ['brick', 'los', 'los', 'lost', 'point', 'class', 'avoid']
    """
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "e", "s"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and not word.endswith("ss"):
            return rest
    return word


def chunks(text: str, size: int, overlap: int) -> Iterator[Span]:
    """Yields consecutive parts of at most `size` words that cover every character; neighbours share `overlap` words.

    Models read a limited number of words; an answer of at most `overlap` words that crosses the end of a chunk is
    complete in the next one (section 3 of the paper, which has no overlap).

    Raises:
      ValueError: `size` is not larger than `overlap`, or `overlap` is negative.

    >>> text = "one two three four five"
    >>> [text[start:end] for start, end in chunks(text, size=3, overlap=1)]
    ['one two three ', 'three four five']
    """
    if not 0 <= overlap < size:
        raise ValueError(f"expected 0 <= overlap < size, got overlap {overlap} and size {size}")
    starts = [0, *(found.end() for found in re.finditer(r"\s+", text) if found.start() > 0 and found.end() < len(text))]
    for first in range(0, max(len(starts) - overlap, 1), size - overlap):
        last = first + size
        yield Span(starts[first], starts[last] if last < len(starts) else len(text))
