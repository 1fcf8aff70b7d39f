"""Reads and writes Minari's datasets, in its three storages."""
