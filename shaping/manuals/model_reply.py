"""A reply of a language model, with its complete request."""

import math
from dataclasses import dataclass
from typing import Final

_MOST_CANDIDATES: Final = 100


@dataclass(frozen=True)
class ModelReply:
    """A reply of a language model, and its request.

    Attributes:
      model: its name, and its version if known.
      seed: of its random numbers.
      system: the instructions before the prompt.
      prompt: of the request.
      text: of the reply.
      log_probabilities: candidates for the first token of the text, and the natural logarithms of their probabilities;
        empty if the model does not report them.

    Raises:
      ValueError: a log-probability is above 0 or not finite, or there are more than a hundred.
    """

    model: str
    seed: int
    system: str
    prompt: str
    text: str
    log_probabilities: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        if len(self.log_probabilities) > _MOST_CANDIDATES:
            raise ValueError(f"expected at most {_MOST_CANDIDATES} candidates, got {len(self.log_probabilities)}")
        for token, logarithm in self.log_probabilities:
            if not math.isfinite(logarithm) or logarithm > 0:
                raise ValueError(f"expected a finite logarithm of the probability of {token!r}, got {logarithm}")

    def probability(self, word: str) -> float:
        """The probability that the text begins with a word; ignores case and other characters around the letters.

        >>> reply = ModelReply("tiny", 0, "", "Eat it?", "Yes.", ((" Yes", -0.5), ("yes", -1.5), ("No", -2.0)))
        >>> round(reply.probability("yes"), 3), round(reply.probability("no"), 3)
        (0.83, 0.135)
        """
        found = (math.exp(logarithm) for token, logarithm in self.log_probabilities if letters(token) == word)
        return min(1.0, math.fsum(found))


def letters(token: str) -> str:
    """The letters of a token in lower case, without the mark for a space that tokenizers add before words.

    >>> letters("\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}Yes,"), letters("\N{LOWER ONE EIGHTH BLOCK}NO")
    ('yes', 'no')
    """
    return "".join(each for each in token.lstrip("\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}").lower() if each.isalpha())
