"""Remote datasets: reads any file system of fsspec with range requests and a disk cache; never writes."""

from rlds_kit.remote.errors import NotLocalError, RemoteChangedError, RemoteError

__all__ = ["NotLocalError", "RemoteChangedError", "RemoteError"]
