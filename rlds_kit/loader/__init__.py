"""Feeds training: windows, chunks and transitions of recorded steps as batches of NumPy arrays."""
