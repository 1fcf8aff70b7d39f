"""Batches for training: windows, chunks and transitions of recorded steps as NumPy arrays."""
