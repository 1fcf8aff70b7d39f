"""Applies the `decoders` of TFDS to data that is not encoded."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlds_kit.base.rlds_types import STEPS
from rlds_kit.tfds_builders.tfds_extra import tfds


@dataclass(frozen=True)
class Choice:
    """The selected fields of an episode, and their form.

    Attributes:
      features: a `tfds.features.FeaturesDict` of what is read.
      is_dense: whether the steps of an episode are one dict of arrays `[T, ...]`.
    """

    features: Any
    is_dense: bool


def choice(features: Any, decoders: Any) -> Choice:
    """Converts decoders to a choice.

    Args:
      features: of an episode.
      decoders: None; `{"steps": tfds.decode.SkipDecoding()}` for all steps of an episode in one dict of arrays;
        `tfds.decode.PartialDecoding({"steps": {"reward"}, "episode_id": True})` to read only these; or a partial one
        with the other one as its own decoders.

    Raises:
      ValueError: other decoders, or decoders of features that do not exist.
    """
    if isinstance(decoders, tfds.decode.PartialDecoding):
        return choice(_part(features, decoders), decoders.decoders)
    if not decoders:
        return Choice(features, is_dense=False)
    is_skipped = isinstance(decoders, Mapping) and {*decoders} == {STEPS}
    if is_skipped and isinstance(decoders[STEPS], tfds.decode.SkipDecoding):
        return Choice(features, is_dense=True)
    raise ValueError(
        'expected decoders={"steps": tfds.decode.SkipDecoding()} or tfds.decode.PartialDecoding(...), got '
        f"{decoders!r}; values are not encoded here, so there is nothing else to decode: use `map`"
    )


def _part(features: Any, partial: Any) -> Any:
    """The remaining features. TFDS searches only dicts, so steps are passed as one."""
    shown = {name: feature for name, feature in features.items() if name != STEPS}
    if STEPS in features:
        shown[STEPS] = features[STEPS].feature
    found = partial.extract_features(tfds.features.FeaturesDict(shown))
    if STEPS in found and not len(found[STEPS]):
        raise ValueError(f'expected fields of steps in PartialDecoding, got none; leave "{STEPS}" out to read no steps')
    chosen = {name: tfds.features.Dataset(found[name]) if name == STEPS else found[name] for name in found}
    return tfds.features.FeaturesDict(chosen)
