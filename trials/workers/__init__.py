"""Processes in which environments run and are recorded."""
