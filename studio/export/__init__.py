"""Exports episodes: without internal fields, with tags as columns, as a dataset that every reader opens."""
