"""Datasets that are elsewhere: any file system of fsspec, read in ranges through a cache on disk, never written."""
