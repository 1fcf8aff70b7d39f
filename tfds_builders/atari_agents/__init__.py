"""Atari games played by programs, recorded on the spot from the Arcade Learning Environment."""
