"""The last rows of episodes that end with an autoreset in the same step (SAME_STEP), as columns.

A step then returns the first observation and infos of the next episode, and those of the ended one as `final_obs` and
`final_info`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlds_kit.logger import vector_info
from rlds_kit.logger.batch_fields import BatchField, as_array
from rlds_kit.logger.batch_infos import BatchInfos
from rlds_kit.storage.array_form import is_alike
from rlds_kit.storage.batch_leaves import BatchLeaf
from rlds_kit.storage.declared import DeclaredFields


@dataclass(frozen=True, slots=True, eq=False)
class LastRows:
    """Finds the columns of last rows in infos.

    Attributes:
      observation: turns observations into columns.
      infos: likewise infos, of last rows alone, as it remembers their form; None: infos are not recorded.
      num_envs: number of environments.
    """

    observation: BatchField
    infos: BatchInfos | None
    num_envs: int

    def leaves(
        self, infos: Any, lanes: np.ndarray, others: Any, *, fields: DeclaredFields, times: Sequence[BatchLeaf]
    ) -> list[BatchLeaf] | None:
        """The columns of the observation side in the last rows of some lanes.

        Args:
          infos: of the step, of any type.
          lanes: the numbers of those whose episodes have ended.
          others: the observations that the step returned for all environments; what last ones are stacked like.
          fields: of the recorder.
          times: columns that these rows have too, if they have an observation.

        Returns:
          None: they must be recorded row by row. An empty list: the environments return no last observations, so the
          rows have nothing of the observation side.

        Raises:
          NotColumnsError: they must be recorded row by row.
        """
        if not isinstance(infos, dict):
            return None
        observations, mask, own, own_mask = (infos.get(name) for name in vector_info.FINAL)
        if observations is None:
            return []
        if not (self._have_all(mask, lanes) and self._have_all(own_mask, lanes) and isinstance(own, Mapping | None)):
            return None
        are_own = own and not vector_info.OWN_STATISTICS.isdisjoint(own)
        if are_own and not infos.keys().isdisjoint(vector_info.STATISTICS):
            return None  # two infos with statistics, each with a mask of its own, cannot be one column
        batch = self._stacked(as_array(observations), lanes, others)
        leaves = self.observation.leaves(batch, fields, is_acted=False)
        if self.infos is not None:
            found, single = self.infos.leaves(vector_info.of_finals(infos), fields)
            if single[lanes].any():  # lanes with infos that no column can have
                return None
            # Without a mask, rows are in the form of earlier ones.
            leaves += (each._replace(mask=None) if self._have_all(each.mask, lanes) else each for each in found)
        return [*leaves, *times]

    def _stacked(self, batch: Any, lanes: np.ndarray, others: Any) -> Any:  # observations of any type
        """An object array of the observations of some lanes as one array like those of others; else unchanged."""
        are_arrays = isinstance(batch, np.ndarray) and isinstance(others, np.ndarray) and others.ndim > 1
        if not are_arrays or batch.dtype != np.object_ or not batch.shape[:1] == others.shape[:1] == (self.num_envs,):
            return batch
        items = batch[lanes].tolist()
        if not all(type(item) is np.ndarray and is_alike(item, others[0]) for item in items):
            return batch
        found = np.zeros_like(others)
        found[lanes] = items
        return found

    def _have_all(self, mask: Any, lanes: np.ndarray) -> bool:  # of any type in other people's infos
        """Whether all of these lanes have a value."""
        is_mask = isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == (self.num_envs,)
        return mask is None or (is_mask and bool(mask[lanes].all()))
