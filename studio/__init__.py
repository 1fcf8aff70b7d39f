"""Collect, replay, tag and export episodes in a browser."""
