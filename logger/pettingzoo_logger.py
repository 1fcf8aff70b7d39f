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


def PettingZooLogger(  # noqa: N802  stands beside the classes GymnasiumLogger and EnvLogger and is used as they are
    env: ParallelEnv[Any, Any, Any] | AECEnv[Any, Any, Any],
    directory: str | os.PathLike[str],
    **options: Unpack[PettingZooOptions],
) -> ParallelLogger | AECLogger:
    """Wraps a PettingZoo environment and records it: in a `ParallelLogger` or an `AECLogger`, whichever fits.

    Args:
      env: to record.
      directory: of the dataset; made if it is not there.
      options: see `PettingZooOptions`.

    Raises:
      TypeError: the environment is of neither kind.
      SpecError: a space cannot be recorded, or contradicts the dataset that is there; or two agents have one name.
      DatasetExistsError: the mode forbids the dataset that is there.

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
