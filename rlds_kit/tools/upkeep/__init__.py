"""Looks after datasets that are on disk: verify, repair, rechunk, statistics."""
