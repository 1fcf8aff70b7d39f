"""Episodes that are unreadable, empty, left out or without metadata, and fields that deviate."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from rlds_kit.base.step import EpisodeEnd
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode


@rule("RK001", Severity.ERROR)
class Unreadable(Check):
    """An episode cannot be read.

    Stored bytes do not match their checksum, are missing, or are not what the format says. The other rules see what
    comes before them in the episode, and in a file of a foreign format nothing of what comes after.

    Disks, copies and interrupted downloads damage files. What is damaged is never decoded to a false value, so training
    code would stop with the same error.

    `rlds-kit verify` lists the bytes and `rlds-kit repair` copies everything that can be saved. For a foreign format
    get the file again and compare its checksum.
    """

    def begin(self, subject: Subject) -> Iterable[Hit]:
        """Checks the dataset."""
        return [Hit(each) for each in subject.damage]


@rule("RK309", Severity.WARNING)
class DeviatingField(Check):
    """A declared field has values that its spec does not allow.

    The space or spec of a field says one dtype and shape, and values of another came: float64 in a float32 Box, a list,
    a reward of shape (1,), an item that was not declared, or none where one was.

    Such values are recorded exactly as they came, and `steps` gives them so. But arrays of them have another dtype than
    the spec says, or there are none: loaders widen the dtype where that loses nothing, and refuse the field otherwise.

    Correct the space, or convert the value with a wrapper such as DtypeObservation, and record again. To train on what
    is there, name the dtype that a loader should give with `dtypes`.
    """

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports the deviating values of each field."""
        for field, came in subject.deviations.items():
            yield Hit(f"values that the declared spec does not allow: {', '.join(came)}", field=field)


LISTED: Final = 1000


@rule("RK603", Severity.WARNING)
class MissingMetadata(Check):
    """Some episodes lack metadata that most have.

    A key of the metadata is there in more than half of the episodes and missing in others. Episodes that were
    interrupted or cut off do not count: metadata that are known at the end only are missing there.

    `where` and `rlds-kit filter` read every episode; one without the key is an error at best, and else it silently
    falls on one side. TFDS needs every key in every episode.

    Give the key to all episodes, with None where there is no value. `rlds-kit filter` leaves out those without it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys = Counter[str]()
        self._kinds = Counter[frozenset[str]]()
        self._numbers: dict[frozenset[str], list[int]] = {}

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Counts the keys of an episode."""
        if episode.end in (EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED):
            keys = frozenset(map(str, episode.metadata))
            self._keys.update(keys)
            self._kinds[keys] += 1
            numbers = self._numbers.setdefault(keys, []) if len(self._numbers) < LISTED else []
            if len(numbers) < LISTED:
                numbers.append(episode.number)
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports the episodes that lack metadata."""
        del subject
        episodes = self._kinds.total()
        for key, count in sorted(self._keys.items()):
            if not episodes / 2 < count < episodes:
                continue
            lacking = sorted(each for keys, all_of in self._numbers.items() if key not in keys for each in all_of)
            for number in lacking:
                yield Hit(f"missing in {episodes - count:,} of {episodes:,} episodes", number, None, f"metadata/{key}")


@rule("RK604", Severity.WARNING)
class EmptyEpisode(Check):
    """An episode has no action.

    The environment was reset and reset again, or closed, and no step was taken between.

    An episode without an action has no transition, but it counts: averages over episodes get a return of 0, and code
    that takes the first action of each fails. A wrapper that resets twice makes as many of them as episodes.

    `rlds-kit filter DATASET OUTPUT --where "length > 1"` leaves them out.
    """

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Reports the episodes without an action."""
        if episode.actions < 1:
            yield Hit("no action was taken", episode.number)


@rule("RK605", Severity.INFO)
class LeftOut(Check):
    """The reader of a foreign format leaves something out.

    There are data that no other format gets to see: metadata that belong to no episode, groups that the format's
    standard does not know, bytes that are damaged.

    What is left out is missing in every conversion. Sometimes that is right, sometimes it is the column that mattered.

    Inspect the data that the finding names with the format's own tools, and decide whether it matters.
    """

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports what the reader of the format left out."""
        for loss in dict.fromkeys(subject.losses):
            yield Hit(loss, field=loss.partition(":")[0])
