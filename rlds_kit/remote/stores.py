"""Chooses the reader for an address: our own for http(s), fsspec for all others."""

from collections.abc import Callable, Mapping
from typing import Any

from rlds_kit.remote.address import HTTP, Address
from rlds_kit.remote.store import FsspecStore, Store


def store_of(address: Address, options: Mapping[str, Any]) -> Store:
    """Returns the reader of the directory at an address."""
    make: Callable[[Address, Mapping[str, Any]], Store] = FsspecStore
    if address.url.startswith(HTTP):
        from rlds_kit.remote.http import HttpStore  # imports asyncio

        make = HttpStore
    return make(address, options)
