"""Atari games played by people: recordings in our own format, and the CrowdPlay Atari dataset."""
