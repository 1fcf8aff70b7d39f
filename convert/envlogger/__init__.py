"""Reads and writes the directories of DeepMind's EnvLogger."""

from rlds_kit.convert.envlogger.recording import Recording, open_recording

__all__ = ["Recording", "open_recording"]
