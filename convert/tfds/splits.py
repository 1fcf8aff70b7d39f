"""Parses names of splits such as `train[:10%]+test`, as in https://www.tensorflow.org/datasets/splits."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

ALL: Final = "all"
_PART: Final = re.compile(r"(?P<name>[\w-]+)(\[(?P<selector>[\w%:.-]+)\])?")
_BOUND: Final = re.compile(r"((?P<number>-?\d[\d_.]*)(?P<unit>%|shard)?)?")


@dataclass(frozen=True)
class Stretch:
    """Episodes `[begin, end)` of one split."""

    split: str
    begin: int
    end: int


def stretches(split: str, shard_lengths: Mapping[str, Sequence[int]]) -> list[Stretch]:
    """The episodes that a name of a split selects.

    Args:
      split: a name, a slice of it in episodes, percent or shards, `all`, or several of these with "+" between them.
      shard_lengths: the number of episodes in each file, by split.

    Raises:
      ValueError: the name is invalid, there is no such split, or the slice is larger than it.

    >>> stretches("train[:50%]+test[-1:]", {"train": [3, 3], "test": [4]})
    [Stretch(split='train', begin=0, end=3), Stretch(split='test', begin=3, end=4)]
    """
    found = []
    for part in split.split("+"):
        matched = _PART.fullmatch(part.strip())
        if matched is None:
            raise ValueError(f"split: expected a name such as train, train[:10%] or {ALL}, got {split!r}")
        name, selector = matched["name"], matched["selector"]
        if name == ALL and selector is None:
            found += [Stretch(each, 0, sum(lengths)) for each, lengths in shard_lengths.items()]
        elif name in shard_lengths:
            found.append(_slice(name, selector or ":", shard_lengths[name]))
        else:
            raise ValueError(f"split: there is no {name!r}; there are {', '.join([*shard_lengths, ALL])}")
    return found


def _slice(name: str, selector: str, lengths: Sequence[int]) -> Stretch:
    bounds = [_BOUND.fullmatch(bound) for bound in selector.split(":")]
    low, high = bounds if len(bounds) == 2 else (bounds[0], None)
    if low is None or len(bounds) > 2 or (len(bounds) == 2 and high is None):
        raise ValueError(
            f"split: expected a slice such as {name}[10:20], {name}[:10%] or {name}[3shard], got [{selector}]"
        )
    unit = low["unit"] or (high["unit"] if high else None) or ""
    total = sum(lengths)
    if high is None:
        if unit != "shard":
            raise ValueError(f"split: expected two bounds, as in {name}[{selector}:], got [{selector}]")
        first = int(low["number"]) % max(1, len(lengths))
        return Stretch(name, sum(lengths[:first]), sum(lengths[: first + 1]))
    begin = 0 if low["number"] is None else _position(low["number"], unit, lengths)
    end = total if high["number"] is None else _position(high["number"], unit, lengths)
    if max(abs(begin), abs(end)) > total:
        raise ValueError(f"split: {name}[{selector}] reaches beyond the {total} episodes of {name}")
    begin, end = (bound + total if bound < 0 else bound for bound in (begin, end))
    return Stretch(name, begin, max(begin, end))


def _position(number: str, unit: str, lengths: Sequence[int]) -> int:
    if unit != "%" and not re.fullmatch(r"-?\d[\d_]*", number):
        raise ValueError(f"split: expected a whole number of episodes or shards, or a percentage, got {number}")
    if unit == "%":
        return round(float(number) * sum(lengths) / 100)
    if unit == "shard":
        return sum(lengths[: int(number)])
    return int(number)
