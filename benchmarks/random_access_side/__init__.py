"""What `benchmarks/random_access.py` runs in processes of its own, in the environment of each system."""
