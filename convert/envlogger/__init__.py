"""Reads and writes what DeepMind's EnvLogger records."""

from rlds_kit.convert.envlogger.recording import Recording, open_recording

__all__ = ["Recording", "open_recording"]
