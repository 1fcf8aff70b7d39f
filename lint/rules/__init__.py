"""The rules by theme; the docstring of each class is its page."""
