"""What there is to see of an environment besides what it draws: the images that it observes.

Nothing here draws: an image that is observed is shown as it is, so a view costs nothing and changes nothing.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.trials.frames.picture import Picture

View = Callable[[], Picture]
DEFAULT: Final = "default"
"""The view that the environment itself chooses."""
_SMALLEST: Final = 16
"""Pixels: what is smaller is a table of codes, as MiniGrid has it, more often than an image."""
_CHANNELS: Final = {1, 3, 4}


def views_of(render: View, observation: specs.Spec, observed: Callable[[], Any]) -> dict[str, View]:
    """The views of an environment by name: what it draws itself, then each image of a nested observation.

    Args:
      render: what the environment draws itself.
      observation: its spec.
      observed: the observation of the latest step.

    >>> camera = specs.Array((64, 64, 3), "uint8")
    >>> spec = specs.Dict({"arm": specs.Array((7,), "float32"), "hand": specs.Dict({"left": camera})})
    >>> list(views_of(lambda: None, spec, dict))
    ['default', 'hand/left']
    """
    views = {DEFAULT: render}
    for path in _images(observation):
        if path:  # an observation that is nothing but an image is most often what the environment draws
            views.setdefault("/".join(map(str, path)), _Image(path, observed))
    return views


class _Image:
    """An image in an observation."""

    def __init__(self, path: tuple[Any, ...], observed: Callable[[], Any]) -> None:
        self._path, self._observed = path, observed

    def __call__(self) -> Picture:
        value = self._observed()
        for key in self._path:
            value = value[key]
        return np.asarray(value)


def _images(spec: specs.Spec, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    match spec:
        case specs.Array() if _is_image(spec):
            yield path
        case specs.Dict(fields):
            for key, field in fields.items():
                yield from _images(field, (*path, key))
        case specs.Tuple(items) | specs.List(items):
            for number, item in enumerate(items):
                yield from _images(item, (*path, number))


def _is_image(spec: specs.Array) -> bool:
    if spec.dtype != np.uint8 or len(spec.shape) != 3 or spec.shape[2] not in _CHANNELS:
        return False
    return all(size is not None and size >= _SMALLEST for size in spec.shape[:2])
