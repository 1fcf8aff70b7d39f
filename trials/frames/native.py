"""The C extension of PNG, where it was built and is wanted; else pictures are encoded without a palette."""

from typing import Final

from rlds_kit.extension import extension

native: Final = extension("rlds_kit.trials.frames")
