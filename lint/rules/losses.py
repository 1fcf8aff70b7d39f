"""Losses from before the dataset was made."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from rlds_kit.lint.jpeg_grid import has_traces
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Leaf, Subject, SubjectEpisode, is_observation


@rule("RK401", Severity.WARNING)
class LossySource(Check):
    """Values were lost before the dataset was made.

    Its metadata say so, or its format does: images that are stored as JPEG or as video, a file that ends inside a
    record.

    Lossless storage does not restore lost values. Before version 0.5.4 Minari always stored images
    as JPEG: of Breakout's pixels a quarter came back changed, some by 119 of 255. Small things such as a ball of four
    pixels are what such an encoder drops first, and a replay of the environment no longer gives the recorded
    observations.

    Record again without loss where that is possible: rlds_kit's frames take less room than JPEG on most games. Else say
    in the description that the images are lossy.
    """

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports losses from before the dataset was made, according to its metadata or its format."""
        for field, what in subject.lossy.items():
            yield Hit(f"lossy at the source: {what}", field=field)


IMAGES: Final = 24
SMALLEST: Final = 64


@rule("RK402", Severity.WARNING)
class TracesOfJpeg(Check):
    """Images have traces of JPEG.

    Nothing says that something was lost, but the frequencies of 8 x 8 blocks of the images are multiples of a step, as
    they are after JPEG's quantisation, and those of blocks that lie between are not. Some twenty images of a dataset
    are checked, colour or grey, at least 64 x 64 pixels large, with more than 64 levels. Qualities up to 90 or so are
    seen; what was scaled or cropped afterwards, and video codecs with other transforms, are not. In frames of the 104
    games of ALE, in colour and as 84 x 84 pixels of grey, and in 40 sets of noisy pictures like a camera's, none of
    which was JPEG, it saw none; of the pictures it saw all that were JPEG of quality 90 or less, of the games, whose
    pictures are mostly flat, a quarter to a half.

    JPEG changes pixels, and the changes are largest at edges: where the objects are that matter to a policy. A dataset
    that passes for lossless is compared with replays, and trains models whose inputs will not have these traces.

    Find the original images. If they are gone, say in the description that the images were JPEG once.
    """

    def begin(self, subject: Subject) -> Iterable[Hit]:
        """Chooses the episodes, and how many rows of each."""
        self._every = max(1, subject.expected // IMAGES)
        self._rows = max(1, IMAGES // max(1, subject.expected))
        self._images: dict[str, list[np.ndarray]] = {}
        self._is_over = False
        return ()

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Takes some rows, a few apart."""
        if self._is_over or episode.number % self._every or not episode.length:
            return ()
        for row in np.linspace(0, episode.length - 1, self._rows + 2).astype(int)[1:-1].tolist():
            leaves = episode.leaves(is_observation, row, row + 1)
            images = {path: leaf.values[0] for path, leaf in leaves.items() if _is_image(leaf)}
            for path, image in images.items():
                self._images.setdefault(path, []).append(image)
            self._is_over = not images or min(map(len, self._images.values())) >= IMAGES
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Finds traces, if the metadata of the dataset report no loss."""
        if subject.lossy:
            return
        for path, images in self._images.items():
            if len({image.shape for image in images}) == 1 and has_traces(images):
                yield Hit(f"{len(images)} images have traces of JPEG, and no metadata report that", field=path)


def _is_image(leaf: Leaf) -> bool:
    shape = leaf.values.shape[1:]
    is_picture = len(shape) == 2 or (len(shape) == 3 and shape[-1] in (1, 3))
    return leaf.values.dtype == np.uint8 and is_picture and min(shape[:2]) >= SMALLEST
