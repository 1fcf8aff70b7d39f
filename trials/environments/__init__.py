"""Environments as a worker plays them."""
