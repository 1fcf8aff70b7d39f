"""Exports episodes: without what is internal, with tags as columns, as a dataset that every reader opens."""
