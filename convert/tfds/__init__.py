"""Reads what TensorFlow Datasets has prepared, without TensorFlow."""
