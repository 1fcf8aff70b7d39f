"""The migrations from older versions of the tables to this one, in order."""
