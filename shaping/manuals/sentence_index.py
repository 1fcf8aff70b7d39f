"""An index of the sentences of a part of a manual by words: only sentences with a word of the question are compared."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from rlds_kit.shaping.manuals.sentences import Span, sentences
from rlds_kit.shaping.manuals.tf_idf import rarity, similarity, telling, weighted


class SentenceIndex:
    """Scores sentences: equals the similarity of the `vectors` of the question and of all sentences of the part.

    Args:
      text: of the manual.
      part: of the text.
    """

    def __init__(self, text: str, part: Span) -> None:
        piece = text[part.start : part.end]
        self._spans = [Span(part.start + start, part.start + end) for start, end in sentences(piece)]
        self._counts = [telling(text[start:end]) for start, end in self._spans]
        self._places: dict[str, list[int]] = defaultdict(list)
        for place, count in enumerate(self._counts):
            for word in count:
                self._places[word].append(place)
        self._texts = 1 + len(self._spans)
        self._rare = {word: rarity(len(places), self._texts) for word, places in self._places.items()}

    def scores(self, question: str, *, zeros: bool) -> Iterator[tuple[Span, float]]:
        """The similarity of sentences with a question, in the order of the text.

        Args:
          question: about the manual.
          zeros: whether to include sentences without a word of the question.
        """
        words: Counter[str] = telling(question)
        places = {word: self._places.get(word, []) for word in words}
        rare = self._rare | {word: rarity(1 + len(found), self._texts) for word, found in places.items()}
        wanted = weighted(words, rare)
        found = range(len(self._spans)) if zeros else sorted({each for some in places.values() for each in some})
        for place in found:
            yield self._spans[place], similarity(wanted, weighted(self._counts[place], rare))
