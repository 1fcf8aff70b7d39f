"""The version of the distribution, in the one place that `setup.py` and the code both read."""

__version__ = "0.1.0"
