"""Players of `vectors.py`."""
