"""The report of a comparison of two datasets."""

from dataclasses import dataclass

from rlds_kit.tools.compare.values import Kind


@dataclass(frozen=True, slots=True)
class Divergence:
    """A difference between two values, at one place.

    Attributes:
      field: path of a field, as in "observation/pixels"; or "length", "end", "metadata/score", "seed" of an episode;
        or "spec/reward", "environment/id" of a dataset.
      kind: what differs.
      a: what A has, in short.
      b: what B has, in short.
      episode_a: number of the episode in A; None where it concerns no episode.
      episode_b: number of the episode in B.
      step: counted from the episode's start; None where it concerns no step.
    """

    field: str
    kind: Kind
    a: str
    b: str
    episode_a: int | None = None
    episode_b: int | None = None
    step: int | None = None

    @property
    def place(self) -> str:
        """The place of the difference, in words.

        >>> Divergence("reward", "value", "0.0", "1.0", 3, 3, 17).place
        'episode 3, step 17'
        """
        if self.episode_a is None:
            return "dataset"
        same = self.episode_a == self.episode_b
        episode = f"episode {self.episode_a}" if same else f"episodes {self.episode_a} and {self.episode_b}"
        return episode if self.step is None else f"{episode}, step {self.step}"


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A kind of difference in one field, and where it occurs.

    Attributes:
      field: as in `Divergence`.
      kind: what differs.
      count: steps, episodes or datasets that differ.
      values: elements that differ.
      max_difference: the largest absolute difference of numbers; None if there is none.
      first: the first one.
    """

    field: str
    kind: Kind
    count: int
    values: int
    max_difference: float | None
    first: Divergence


@dataclass(frozen=True, slots=True)
class LayerDifference:
    """The differences of a layer in the episodes that were compared.

    Attributes:
      name: of the layer.
      only_a: annotations that A alone has; ids are ignored, and retracted annotations do not count.
      only_b: annotations that B alone has.
    """

    name: str
    only_a: int
    only_b: int


@dataclass(frozen=True, slots=True)
class Report:
    """The result of `diff`.

    Attributes:
      a: where A is.
      b: where B is.
      match: how episodes were paired: "id", "order" or "digest".
      pairs: episodes that were compared.
      by_digest: of these, those whose content digests are equal: they were not decoded.
      differing: of these, those that differ.
      only_a: numbers of A's episodes without a matching one in B.
      only_b: numbers of B's episodes without a matching one in A.
      reordered: pairs that come in another order in B; only where episodes are paired by id.
      fields: every field that differs, in the order in which the differences were found.
      first: the first differences, in order.
      layers: layers that differ; they are not compared if fields were chosen.
    """

    a: str
    b: str
    match: str
    pairs: int
    by_digest: int
    differing: int
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]
    reordered: int
    fields: tuple[FieldDifference, ...]
    first: tuple[Divergence, ...]
    layers: tuple[LayerDifference, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.fields or self.only_a or self.only_b or self.reordered or self.layers)
