"""What benchmarks/trials.py measures with."""
