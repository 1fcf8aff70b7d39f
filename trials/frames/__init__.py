"""Pictures on their way to a browser."""
