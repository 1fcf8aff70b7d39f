"""Apache Beam for builders: which runner, and the episodes of sources as a transform."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from rlds_kit.tfds_builders.episode_source import EpisodeSource, Part
from rlds_kit.tfds_builders.example_limit import require_size


def with_local_runner(download_config: Any) -> tuple[Any, bool]:
    """A `DownloadConfig` that names its runner, and whether Beam is used at all.

    Options without a runner mean this machine. Beam's own choice for that tries to download a program first; so it is
    `FnApiRunner`, which runs the options `direct_running_mode` and `direct_num_workers` in this installation.
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

    What travels to a worker is where episodes are, not what they hold.
    """
    import apache_beam

    beam: Any = apache_beam  # its functions are not annotated
    parts = [(number, part) for number, source in enumerate(sources) for part in source.parts]
    # Without the reshuffle one worker would read everything: it is fused with what made the parts.
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
