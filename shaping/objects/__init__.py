"""Objects on the screen of an Atari game, found in its memory, and contacts between them."""

from rlds_kit.shaping.objects.box import Box, ObjectExtractor
from rlds_kit.shaping.objects.breakout import PaddleAndBall
from rlds_kit.shaping.objects.contacts import Contact, ContactDetector
from rlds_kit.shaping.objects.linear_probe import LinearProbe, fit_linear_probe
from rlds_kit.shaping.objects.ocatari_objects import OCAtariObjects

__all__ = [
    "Box",
    "Contact",
    "ContactDetector",
    "LinearProbe",
    "OCAtariObjects",
    "ObjectExtractor",
    "PaddleAndBall",
    "fit_linear_probe",
]
