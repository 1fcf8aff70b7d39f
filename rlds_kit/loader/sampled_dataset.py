"""The methods of `Dataset` that divide episodes into samples."""

import abc
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

from numpy.typing import DTypeLike

from rlds_kit import spec as specs
from rlds_kit.base.arguments import offsets as checked
from rlds_kit.base.arguments import positive
from rlds_kit.base.step import FLAGS
from rlds_kit.loader.samples import Samples
from rlds_kit.loader.source import Source
from rlds_kit.loader.step_columns import StepColumns, step_columns
from rlds_kit.loader.transitions import Transitions
from rlds_kit.loader.windows import Chunks, Pad, Windows
from rlds_kit.storage.selection import path_of


class SampledDataset(abc.ABC):
    """The methods of `Dataset` for windows, chunks and transitions."""

    @property
    @abc.abstractmethod
    def spec(self) -> specs.Dict:
        """The spec of every field."""

    @abc.abstractmethod
    def source(self) -> Source:
        """The source for loaders."""

    @abc.abstractmethod
    def select(self, *names: str) -> Self:
        """Returns the dataset with only these fields."""

    def arrays(
        self,
        *names: str,
        dtypes: Mapping[str, DTypeLike] | None = None,
        out: Mapping[str, Any] | None = None,
        threads: int | None = None,
    ) -> StepColumns:
        """Reads all steps into flat arrays, one episode after the other, for data that fit in memory.

        Args:
          *names: fields, or paths into nests, as in `select`; default: the selected fields.
          dtypes: to convert fields to, by name; default: as recorded.
          out: arrays to fill instead of new ones, by field: the result of an earlier call, or `[steps, ...]` arrays of
            NumPy, which may be longer; for a nest a nest of them.
          threads: that decode; by default as many as there are cores, at most 4.

        Returns:
          Fields `[steps, ...]`, the bounds of episodes, and where values are defined; and the forms of other libraries.

        Raises:
          SpecError: the values of a field differ in shape or dtype, or are no numbers.
          KeyError: there is no such field.
          ValueError: an array of `out` has another dtype or shape, or overlaps another one.
          DamagedError: data are damaged.
          MemoryError: the arrays do not fit in memory.

        >>> columns = ds.arrays("observation", "action", "reward")  # doctest: +SKIP
        >>> columns["observation"].shape, columns.offsets[:3]  # doctest: +SKIP
        ((1001000, 17), array([   0, 1001, 2002]))
        """
        source = self.select(*names).source() if names else self.source()
        count = min(4, os.cpu_count() or 1) if threads is None else positive("threads", threads)
        return step_columns(source, dtypes or {}, out, count)

    def windows(
        self, length: int, stride: int = 1, pad: Pad = "none", *, dtypes: Mapping[str, DTypeLike] | None = None
    ) -> Samples:
        """Windows of `length` consecutive steps of an episode, the first of them every `stride` steps.

        In a batch, a field is `[B, length, ...]`; `mask` is `[B, length]` bool, True where there is a step; and `valid`
        has for each field, or each array of its nest, `[B, length]` bool, True where it is defined: action, reward and
        discount are undefined on an episode's last step. `episode` and `step` are `[B]`: where in the dataset a window
        begins. No window crosses a gap or an episode's end.

        Args:
          length: steps of a window.
          stride: steps from one window's start to the next one's.
          pad: "none" has full windows only; with "zero" and "repeat" a window starts at every `stride`-th step, missing
            steps are zeros or repeat the last step, and their flags are False.
          dtypes: to convert fields to, by name; default: as recorded.

        Raises:
          ValueError: `length` or `stride` is less than one, or there is no such padding.

        >>> ds.windows(8).batches(32, shuffle="global", seed=0)  # doctest: +SKIP
        """
        return Samples(self.source(), Windows(length, stride, pad), dtypes)

    def chunks(
        self,
        offsets: Mapping[str, Iterable[int]],
        pad: Pad = "none",
        *,
        dtypes: Mapping[str, DTypeLike] | None = None,
    ) -> Samples:
        """Returns chunks: for every step, each field at its own offsets. For histories of observations, future actions.

        In a batch, a field is `[B, len(offsets), ...]`, and `valid` has `[B, len(offsets)]` bool, True where it is
        defined. `episode` and `step` are `[B]`: the step of the dataset. No chunk crosses a gap or an episode's end.

        Args:
          offsets: by field, or by path into a nest, counted from the step: `{"observation": range(-3, 1), "action":
            range(0, 8)}`.
          pad: "none" leaves out steps for which some offset is missing; "zero" and "repeat" use zeros, or the value of
            the nearest step that has one, and False for flags.
          dtypes: to convert fields to, by name.

        Raises:
          KeyError: there is no such field.
          ValueError: a field has no offsets, or there is no such padding.
        """
        spec = self.spec
        where = {name if name in FLAGS else path_of(spec, name): steps for name, steps in checked(offsets).items()}
        return Samples(replace(self.source(), spec=spec, fields=tuple(where)), Chunks(where, pad), dtypes)

    def transitions(self, n: int = 1, gamma: float = 1.0, *, dtypes: Mapping[str, DTypeLike] | None = None) -> Samples:
        """Transitions, one for every action.

        In a batch, `observation`, `action` and other fields are `[B, ...]`; `next_observation` is the one `n` steps
        later, or at the end of the episode if that is sooner; `reward` is the discounted sum of the rewards until then;
        `discount` is the factor for the value of `next_observation`, zero where it is terminal. `is_first`,
        `next_is_last`, `next_is_terminal` are bool, `n_steps` is the number of summed rewards, and `valid` has for each
        field except `discount` `[B]` bool, True where it is defined: data may lack the last observation. `episode` and
        `step` are `[B]`: the position in the dataset. No transition crosses a gap.

        Args:
          n: rewards to sum.
          gamma: the agent's own discount, which multiplies the recorded one.
          dtypes: to convert fields to, by name.

        Raises:
          ValueError: `n` is less than one, or `gamma` not in [0, 1].
        """
        return Samples(self.source(), Transitions(n, gamma), dtypes)
