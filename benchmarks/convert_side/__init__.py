"""What `benchmarks/convert.py` runs in processes of its own."""
