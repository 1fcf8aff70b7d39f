"""Records a PettingZoo environment of either kind."""

import os
from typing import Any, Unpack, overload

from rlds_kit.base.extras import needs
from rlds_kit.logger.aec_logger import AECLogger
from rlds_kit.logger.agents_recording import PettingZooOptions
from rlds_kit.logger.parallel_logger import ParallelLogger

with needs("pettingzoo"):
    from pettingzoo import AECEnv, ParallelEnv


@overload
def PettingZooLogger(
    env: ParallelEnv[Any, Any, Any], directory: str | os.PathLike[str], **options: Unpack[PettingZooOptions]
) -> ParallelLogger: ...


@overload
def PettingZooLogger(
    env: AECEnv[Any, Any, Any], directory: str | os.PathLike[str], **options: Unpack[PettingZooOptions]
) -> AECLogger: ...


def PettingZooLogger(  # noqa: N802  named and used like the classes GymnasiumLogger and EnvLogger
    env: ParallelEnv[Any, Any, Any] | AECEnv[Any, Any, Any],
    directory: str | os.PathLike[str],
    **options: Unpack[PettingZooOptions],
) -> ParallelLogger | AECLogger:
    """Wraps a PettingZoo environment in a `ParallelLogger` or an `AECLogger`, depending on its kind.

    Args:
      env: to record.
      directory: of the dataset; created if it does not exist.
      options: see `PettingZooOptions`.

    Raises:
      TypeError: the environment has neither kind.
      SpecError: a space cannot be recorded, or contradicts the existing dataset; or two agents have the same name.
      DatasetExistsError: the mode does not allow an existing dataset.

    >>> import tempfile
    >>> import pettingzoo
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with PettingZooLogger(pettingzoo.make("aec", "classic/rps-v2"), directory) as env:
    ...         type(env).__name__
    'AECLogger'
    """
    if isinstance(env, ParallelEnv):
        return ParallelLogger(env, directory, **options)
    if isinstance(env, AECEnv):
        return AECLogger(env, directory, **options)
    raise TypeError(f"expected a pettingzoo.ParallelEnv or a pettingzoo.AECEnv, got {type(env).__qualname__}")
