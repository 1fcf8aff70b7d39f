"""Apache Beam for builders: the choice of the runner, and the episodes of sources as a transform."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.tfds_builders.episode_source import EpisodeSource, Part


def with_local_runner(download_config: Any) -> tuple[Any, bool]:
    """A `DownloadConfig` that names its runner, and whether Beam is used at all.

    Options without a runner select this machine. Beam's default runner would first try to download a program. So this
    function selects `FnApiRunner`, which supports the options `direct_running_mode` and `direct_num_workers`.
    """
    runner, options = download_config.beam_runner, download_config.beam_options
    if runner is not None or options is None:
        return download_config, runner is not None
    from apache_beam.options.pipeline_options import StandardOptions

    if options.view_as(StandardOptions).runner is None:
        from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

        download_config = dataclasses.replace(download_config, beam_runner=FnApiRunner())
    return download_config, True


def examples_on_beam(sources: Sequence[EpisodeSource]) -> Any:  # a beam.PTransform
    """Key and example of every episode; any free worker reads parts of the sources.

    Workers receive the positions of episodes, not their content.
    """
    import apache_beam

    beam: Any = apache_beam  # its functions are not annotated
    parts = [(number, part) for number, source in enumerate(sources) for part in source.parts]
    # Without the reshuffle, Beam fuses reading with the creation of parts, and one worker reads everything.
    return beam.Create(parts, reshuffle=False) | beam.Reshuffle() | beam.FlatMap(_ReadPart(tuple(sources)))


@dataclasses.dataclass(frozen=True)
class _ReadPart:
    sources: tuple[EpisodeSource, ...]

    def __call__(self, numbered: tuple[int, Part]) -> Iterator[tuple[str, dict[str, Any]]]:
        number, part = numbered
        return examples_of(self.sources[number], part)


def examples_of(source: EpisodeSource, part: Part) -> Iterator[tuple[str, dict[str, Any]]]:
    """Key and example of every episode of a part.

    Raises:
      SpecError: an episode is too large for TFDS.
    """
    for episode in source.episodes(part):
        require_size(episode.example, source.features, f"{source.name}: episode {episode.key}")
        yield episode.key, episode.example


MAX_BYTES: Final = 2**31 - 1
"""TFDS makes one `tf.train.Example` of each episode. Protobuf writes longer messages, and then cannot read them."""
SAFE_PART: Final = 2
"""An episode whose values count for less than this part of the limit cannot exceed it: no encoding makes more than two
bytes of one that is counted."""
SIGNED_BYTES: Final = 5
"""Bytes that a signed integer counts for: a negative one is stored in ten."""
VALUE_BYTES: Final = 128
"""What an encoding may add to a value: the largest is PNG, for its header."""


def require_size(example: Mapping[str, Any], features: Any, place: str, *, limit: int = MAX_BYTES) -> None:
    """Raises an error for an episode that TFDS could write but not read.

    Only episodes of a gigabyte or more are encoded for this check.

    Args:
      example: the argument of `features.encode_example`.
      features: of the example.
      place: of the episode, for messages.
      limit: in bytes.

    Raises:
      SpecError: it is too large.
    """
    if value_bytes(example) <= limit // SAFE_PART:
        return
    size = len(features.serialize_example(example))
    if size > limit:
        raise SpecError(
            f"{place}: expected at most {limit:,} bytes, which is what a tf.train.Example can have, got {size:,}; "
            "record shorter episodes, leave fields out with `select`, or publish the recording itself: "
            "`rlds-kit publish` and `builder_from_directory` have no such limit"
        )


def value_bytes(nest: Any) -> int:
    """The bytes of the arrays and texts of a nest, with the largest overhead of an encoding for each value.

    >>> value_bytes({"reward": np.zeros(3), "task": "push"})
    540
    """
    if isinstance(nest, Mapping):
        return sum(value_bytes(item) for item in nest.values())
    if isinstance(nest, str | bytes):
        return len(nest) + VALUE_BYTES
    if isinstance(nest, np.ndarray) and nest.dtype != object:
        size = max(nest.nbytes, SIGNED_BYTES * nest.size) if nest.dtype.kind == "i" else nest.nbytes
        return int(size) + VALUE_BYTES * (len(nest) if nest.ndim else 1)
    return sum(map(value_bytes, nest)) if isinstance(nest, np.ndarray | list | tuple) else VALUE_BYTES
