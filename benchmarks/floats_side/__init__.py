"""The inputs and the systems of `benchmarks/float_columns.py`."""
