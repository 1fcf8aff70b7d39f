"""Datasets that are elsewhere: any file system of fsspec, read in ranges through a cache on disk, never written."""

from rlds_kit.remote.errors import NotLocalError, RemoteChangedError, RemoteError

__all__ = ["NotLocalError", "RemoteChangedError", "RemoteError"]
