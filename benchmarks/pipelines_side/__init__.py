"""What `pipelines.py` is made of. Players run as processes of their own, Minari's in its own virtual environment."""
