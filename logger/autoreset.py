"""How a vector environment starts its next episodes."""

from typing import Any

from gymnasium.vector import AutoresetMode, VectorEnv


def mode_of(envs: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """The mode in `envs.metadata["autoreset_mode"]`.

    Raises:
      ValueError: it is missing or unknown, so resets cannot be distinguished from steps.

    >>> import gymnasium
    >>> mode_of(gymnasium.make_vec("CartPole-v1", num_envs=2))
    <AutoresetMode.NEXT_STEP: 'NextStep'>
    """
    known = ", ".join(mode.name for mode in AutoresetMode)
    mode = envs.metadata.get("autoreset_mode")
    try:
        return AutoresetMode(mode)
    except ValueError as error:
        raise ValueError(
            f'{envs}: expected metadata["autoreset_mode"] to be one of {known} of gymnasium.vector.AutoresetMode, got '
            f"{mode!r}. Set it to how this environment starts its next episodes."
        ) from error
