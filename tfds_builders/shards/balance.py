"""Which consecutive episodes go together, so that shards are about equally heavy."""

import heapq
from collections.abc import Sequence

import numpy as np


def cut(weights: Sequence[int], parts: int) -> list[range]:
    """Cuts a sequence into so many parts of about equal weight, none of them empty.

    Args:
      weights: of the items, in order.
      parts: at least 1, at most as many as there are items.

    >>> cut([1, 1, 1, 1, 4], 2)
    [range(0, 4), range(4, 5)]
    >>> cut([9, 1, 1], 3)
    [range(0, 1), range(1, 2), range(2, 3)]
    """
    count = len(weights)
    middles = np.cumsum(np.array(weights, np.float64)) - np.array(weights) / 2
    wanted = np.arange(1, parts) * (float(sum(weights)) / parts)
    bounds = [0]
    for part, bound in enumerate(np.searchsorted(middles, wanted).tolist(), 1):
        bounds.append(min(max(bound, bounds[-1] + 1), count - parts + part))
    return [range(*pair) for pair in zip(bounds, [*bounds[1:], count], strict=True)]


def apportion(weights: Sequence[int], limits: Sequence[int], parts: int) -> list[int]:
    """Gives each group a number of parts in proportion to its weight: at least 1, at most its limit.

    Args:
      weights: of the groups.
      limits: at least 1 each.
      parts: in all; there are more if there are more groups, and fewer if the limits allow no more.

    >>> apportion([10, 30, 1], [9, 9, 9], 5)
    [1, 3, 1]
    """
    given = [1] * len(weights)
    heap = [(-weight / 2, group) for group, weight in enumerate(weights) if limits[group] > 1]
    heapq.heapify(heap)
    left = parts - len(weights)
    while left > 0 and heap:
        _, group = heapq.heappop(heap)
        given[group] += 1
        left -= 1
        if given[group] < limits[group]:  # the weight of its parts, if it is given one more
            heapq.heappush(heap, (-weights[group] / (given[group] + 1), group))
    return given
