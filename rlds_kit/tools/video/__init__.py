"""Writes videos of episodes: MP4 or GIF, of any field with images.

`rlds-kit video` does the same from a shell.
"""

from rlds_kit.tools.video.episode_frames import Captions
from rlds_kit.tools.video.errors import VideoError
from rlds_kit.tools.video.pictures import image_fields
from rlds_kit.tools.video.writing import Video, write_video

__all__ = ["Captions", "Video", "VideoError", "image_fields", "write_video"]
