"""The common part of `merge`, `filter`, `split` and `delete`: copies whole episodes into a new dataset."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlds_kit import spec as specs
from rlds_kit.base.progress import Meter, Progress
from rlds_kit.layers.carry import carry
from rlds_kit.storage.whole_directory import new_directory
from rlds_kit.tools.edit.one_spec import one_spec
from rlds_kit.tools.edit.output import Output
from rlds_kit.tools.edit.report import Report
from rlds_kit.tools.upkeep.closing import note_closed
from rlds_kit.tools.upkeep.lineage import describe
from rlds_kit.tools.upkeep.source import Source, SourceEpisode


def new_dataset(
    destination: str | os.PathLike[str],
    sources: Sequence[Source],
    episodes: Sequence[SourceEpisode],
    made: Mapping[str, Any],
    progress: Progress | None,
) -> Report:
    """Makes a dataset of whole episodes, or nothing.

    Args:
      destination: must not exist, or be an empty directory.
      sources: that the episodes are from.
      episodes: in their order, each id once.
      made: the lineage.
      progress: gets the bytes done; they are read twice.

    Raises:
      DatasetExistsError: something is at `destination`.
      SpecError: the sources contradict each other.
      DamagedError: a source is damaged, or the copy differs from it.
      OSError: something cannot be read or written.
    """
    spec, meter = one_spec(sources), Meter(progress, 2 * sum(source.size for source in sources))
    with new_directory(destination) as directory:
        output = Output(directory, meter)
        with output:
            for episode in episodes:
                output.copy(episode)
        report = finished(directory, output, sources, spec, made)
    return replace(report, destination=Path(destination))


def finished(
    directory: Path, output: Output, sources: Sequence[Source], spec: specs.Dict, made: Mapping[str, Any]
) -> Report:
    """Compares what was written with what was meant, takes layers along, and describes it all in dataset.json.

    Raises:
      DamagedError: they differ.
      FormatError: an episode has changed since it was annotated.
      OSError: something cannot be read or written.
    """
    size = output.verify()
    carried = carry([source.path for source in sources], directory, output.moved)
    describe(directory, sources, spec, made)
    note_closed(directory)
    return Report(
        destination=directory,
        episodes=len(output.digests),
        steps=output.steps,
        bytes=size,
        digest=output.digest().hex(),
        left_out=tuple(each for source in sources for each in source.left_out),
        annotations=carried.annotations,
        annotations_left_out=carried.left_out,
    )
