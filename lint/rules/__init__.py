"""The rules, one a module; the docstring of each is its page."""
