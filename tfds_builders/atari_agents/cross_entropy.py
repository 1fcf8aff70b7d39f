"""The cross-entropy method: searches for parameters with a high score, without gradients.

Every generation draws parameters from a normal distribution with independent components, and fits the distribution to
the best of them. Decreasing noise is added to the variance, so that it does not collapse early (Szita and Lorincz,
Learning Tetris Using the Noisy Cross-Entropy Method, Neural Computation 18, 2006, section 3.3).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Parameters = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Search:
    """The settings of a search.

    Attributes:
      population: parameters that are tried in a generation.
      elite: number of the best ones, to which the next distribution is fitted.
      generations: number of generations.
      noise: added to the standard deviation at first; it decreases to zero over the generations.
    """

    population: int = 40
    elite: int = 8
    generations: int = 20
    noise: float = 0.3


@dataclass(frozen=True)
class Generation:
    """The result of one generation: its number, the mean of its elite, and the scores of all its parameters, `[P]`."""

    number: int
    mean: Parameters
    scores: Parameters


def generations(
    score: Callable[[Parameters, int], float], size: int, search: Search, rng: np.random.Generator
) -> Iterator[Generation]:
    """Searches for parameters of a high score.

    Args:
      score: takes parameters `[size]` and the number of the generation.
      size: of the parameters.
      search: the settings.
      rng: the random number generator.

    Yields:
      Each generation; the mean of the last one is the result.

    >>> goal = np.array([1.0, -2.0])
    >>> found = list(generations(lambda x, _: -np.sum((x - goal) ** 2), 2, Search(), np.random.default_rng(0)))
    >>> found[-1].mean.round(1).tolist()
    [1.0, -2.0]
    """
    mean, deviation = np.zeros(size), np.ones(size)
    for number in range(search.generations):
        tried = rng.normal(mean, deviation, (search.population, size))
        scores = np.array([score(parameters, number) for parameters in tried])
        elite = tried[np.argsort(-scores, kind="stable")[: search.elite]]
        mean = elite.mean(0)
        deviation = elite.std(0) + search.noise * (1 - (number + 1) / search.generations)
        yield Generation(number, mean, scores)
