"""What `benchmarks/tfds.py` is made of."""
