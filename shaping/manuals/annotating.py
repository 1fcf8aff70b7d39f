"""Adds the rewards of a manual to recorded episodes, as a layer; and mixes rewards of several sources on reading."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlds_kit import layers
from rlds_kit.base.errors import SpecError
from rlds_kit.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.shaping.manuals.contact_rewards import ContactReward, ContactRewards
from rlds_kit.shaping.manuals.table import InteractionTable
from rlds_kit.shaping.manuals.wrappers import MANUAL_REWARD, RAM_FRAMES

FIELD: Final = f"info/{RAM_FRAMES}"
CONTACTS: Final = "contacts"
"""Key of the user data of annotations: `[[step, slot, category], ...]`."""
TABLE: Final = "table"
"""Key of the user data of an episode's first annotation: the table, as JSON."""


def annotate_manual_rewards(
    dataset: Dataset, rewards: ContactRewards, *, layer: str = "manual", field: str = FIELD
) -> int:
    """Adds the rewards of a manual to every episode, as a layer with the field `manual_reward`.

    The recorded rewards do not change; `dataset.as_amended(layer)` has both. Values equal those of `ManualReward`
    during recording, bit for bit, because extractor and detector are the same. Steps whose contacts have no verdict get
    0 with confidence 0. Annotations have the fingerprint of the table in their user data; the first one of an episode
    has the whole table, with the replies of language models, so that it cannot be lost (`stored_tables`).

    Args:
      dataset: recorded with `EveryFrame`, whole episodes.
      rewards: of the game.
      layer: the name of the layer.
      field: with the memory, `[n, 128]` uint8 for each step.

    Returns:
      The number of annotated episodes.

    Raises:
      SpecError: an episode does not have this field.
      OSError: the layer cannot be written.
    """
    count = 0
    with dataset.annotator(layer, source="manual") as annotator:
        for episode in dataset.episodes:
            found = episode_rewards(episode, rewards, field)
            if not found:
                continue
            for steps in _steps_of_one_confidence(found):
                annotator.add(_draft(episode, found, steps, rewards))
            count += 1
    return count


def stored_tables(dataset: Dataset, layer: str = "manual") -> list[InteractionTable]:
    """The tables from which a layer of rewards was computed, each once, with all replies of models.

    Raises:
      TableError: a table is damaged.
      DamagedError: the layer is damaged.
    """
    found = (each.user_data for each in dataset.layer(layer).annotations())
    texts = dict.fromkeys(data[TABLE] for data in found if isinstance(data, dict) and TABLE in data)
    return [InteractionTable.from_json(text) for text in texts]


def _draft(episode: Episode, found: list[ContactReward], steps: range, rewards: ContactRewards) -> layers.Draft:
    values = np.array([found[step].value for step in steps], np.float32)
    contacts = [[step, each.slot, each.category] for step in steps for each in found[step].contacts]
    user_data = {"rewards": rewards.fingerprint, CONTACTS: contacts}
    if not steps.start:
        user_data[TABLE] = rewards.table.to_json()
    return layers.amendments(
        episode,
        MANUAL_REWARD,
        values,
        first=steps.start,
        confidence=found[steps.start].confidence,
        user_data=user_data,
    )


def _steps_of_one_confidence(found: list[ContactReward]) -> list[range]:
    """Consecutive steps with the same confidence.

    >>> _steps_of_one_confidence([ContactReward(np.float32(0), each, ()) for each in (1.0, 1.0, 0.0, 1.0)])
    [range(0, 2), range(2, 3), range(3, 4)]
    """
    edges = np.flatnonzero(np.diff([each.confidence for each in found])) + 1
    return [range(first, last) for first, last in pairwise([0, *edges.tolist(), len(found)])]


def episode_rewards(episode: Episode, rewards: ContactRewards, field: str = FIELD) -> list[ContactReward]:
    """The rewards of the actions of a recorded episode, in order.

    Raises:
      SpecError: it does not have the field.
    """
    frames = memory_of(episode, field)
    rewards.reset(np.asarray(frames[0])[-1])
    return [rewards.step(np.asarray(each)) for each in frames[1:]]


def memory_of(episode: Episode, field: str) -> Any:
    """The memory after each emulated frame, `[n, 128]` uint8 for each step.

    Raises:
      SpecError: the episode does not have the field.
    """
    try:
        return episode[field]
    except KeyError as error:
        raise SpecError(
            f"expected the field {field!r} of episodes recorded with EveryFrame and record_info=True, got none in "
            f"{episode.id}"
        ) from error


def mixed_rewards(
    episode: Episode, weights: Mapping[str, float], clip: tuple[float, float] | None = None
) -> NDArray[np.float64]:
    """A weighted sum of fields with rewards; the recorded ones do not change.

    Args:
      episode: of a view with the fields, such as `dataset.as_amended("manual")`.
      weights: by field, such as `{"reward": 1.0, "manual_reward": 0.2}`.
      clip: the smallest and the largest sum; None: not clipped.

    Returns:
      `[length]` float64; steps where a field has no value count as 0 there.
    """
    total = np.zeros(len(episode))
    for name, weight in weights.items():
        total += weight * np.where(episode.mask(name), np.asarray(episode[name], np.float64), 0.0)
    return total if clip is None else np.clip(total, *clip)
