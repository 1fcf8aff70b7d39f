"""What `benchmarks/write_arrays.py` runs in processes of their own."""
