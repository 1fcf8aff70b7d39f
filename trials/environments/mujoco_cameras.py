"""The cameras that a model of MuJoCo has, in Gymnasium's environments."""

from typing import Any

from rlds_kit.trials.environments.views import View
from rlds_kit.trials.frames.picture import Picture


def mujoco_views(env: Any) -> dict[str, View]:  # any environment; those of MuJoCo have these attributes
    """Views from the cameras of a model by name; none, if there is no model.

    Which camera draws changes nothing of the simulation, and afterwards it is again the one that was chosen when the
    environment was made (`camera_name`, `camera_id`).

    Args:
      env: of Gymnasium.

    >>> import gymnasium
    >>> mujoco_views(gymnasium.make("CartPole-v1"))
    {}
    """
    renderer = getattr(env.unwrapped, "mujoco_renderer", None)
    if renderer is None:
        return {}
    names = [renderer.model.camera(number).name or str(number) for number in range(renderer.model.ncam)]
    return {f"camera {name}": _Camera(env, renderer, number) for number, name in enumerate(names)}


class _Camera:
    def __init__(self, env: Any, renderer: Any, number: int) -> None:
        self._env, self._renderer, self._number = env, renderer, number

    def __call__(self) -> Picture:
        chosen, self._renderer.camera_id = self._renderer.camera_id, self._number
        try:
            picture: Picture = self._env.render()
        finally:
            self._renderer.camera_id = chosen
        return picture
