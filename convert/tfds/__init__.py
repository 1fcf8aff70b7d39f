"""Reads prepared datasets of TensorFlow Datasets (TFDS), without TensorFlow."""
