"""TF-IDF: weights of words in sentences, and the important words of a manual."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from rlds_kit.shaping.manuals.sentences import sentences, words

STOP_WORDS: Final = frozenset(
    words(
        "a about after all also an and any are as at be because been before being between both but by can could "
        "did do does down each either else every for from get gets given go goes had has have he her here him his "
        "how i if in into is it its just like made make many may more most much must my new next no not now of off "
        "on once one only or other our out over own player players game games play played playing per same see she "
        "should so some such take takes than that the their them then there these they this those three through "
        "time times to too two under until up use used using very was way we were what when where which while who "
        "why will with without would you your yours left right top bottom side screen happens hit happen "
    )
)
"""Words without information about an object of a game, as stems."""


def telling(text: str) -> Counter[str]:
    """Counts the informative words of a text, by stems.

    >>> sorted(telling("The ghosts chase another ghost").items())
    [('another', 1), ('chas', 1), ('ghost', 2)]
    """
    return Counter(word for word in words(text) if word not in STOP_WORDS)


def vectors(texts: Sequence[str]) -> list[dict[str, float]]:
    """The TF-IDF weights of the words of each text, of length 1.

    The frequency in documents is smoothed: log((1 + n) / (1 + df)) + 1.

    >>> first, second = vectors(["eat the dots", "avoid the ghosts"])
    >>> sorted(first), round(sum(weight**2 for weight in first.values()), 6)
    (['dot', 'eat'], 1.0)
    """
    counts = [telling(text) for text in texts]
    frequency = Counter(word for count in counts for word in count)
    rare = {word: rarity(found, len(texts)) for word, found in frequency.items()}
    return [weighted(count, rare) for count in counts]


def rarity(found: int, texts: int) -> float:
    """The weight of a word that occurs in this many of all texts."""
    return math.log((1 + texts) / (1 + found)) + 1


def weighted(count: Mapping[str, int], rare: Mapping[str, float]) -> dict[str, float]:
    """The weights of the words of a text, of length 1.

    Args:
      count: of each word.
      rare: the rarity of each word.
    """
    return _unit({word: number * rare[word] for word, number in count.items()})


def _unit(weights: dict[str, float]) -> dict[str, float]:
    length = math.sqrt(sum(weight * weight for weight in weights.values()))
    return {word: weight / length for word, weight in weights.items()} if length else {}


def similarity(first: dict[str, float], second: dict[str, float]) -> float:
    """The cosine of two vectors of length 1, in [0, 1].

    >>> similarity({"dot": 1.0}, {"dot": 0.6, "ghost": 0.8})
    0.6
    """
    return math.fsum(weight * second[word] for word, weight in sorted(first.items()) if word in second)


def important_words(text: str, count: int = 10) -> list[str]:
    """The words with the largest sums of TF-IDF over the sentences of a text, the most important first.

    The paper uses the top 10 as objects (section 3); most of them are not objects on the screen, so only objects that
    can be detected give rewards.

    >>> important_words("Ghosts chase. Ghosts kill you. Eat dots.", 2)
    ['ghost', 'chas']
    """
    totals: Counter[str] = Counter()
    for weights in vectors([text[start:end] for start, end in sentences(text)]):
        totals.update(weights)
    return sorted(totals, key=lambda word: (-totals[word], text.lower().find(word)))[:count]
