"""What programs that play beside people see: DeepMind's frames, from every frame of a game."""

from rlds_kit.crowd.frames.deepmind import DeepMindFrames, every_frame
from rlds_kit.crowd.frames.shrink import gray, shrink

__all__ = ["DeepMindFrames", "every_frame", "gray", "shrink"]
