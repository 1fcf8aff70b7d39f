"""The command line that the player of every system has: time or weigh a stream; one line of JSON comes out."""

import argparse
import hashlib
import itertools
import json
import resource
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np

Batch = Mapping[str, np.ndarray]
"""Fields `[n, ...]`; they are views or copies as the system gives them."""
Stream = Callable[[Path, bool], Iterator[Batch]]
"""Takes the folder of an input and whether to begin again and again after the last batch."""

WARM_SECONDS: Final = 1.0
"""What a stream runs before it is timed: tf.data tunes itself, files get into the page cache, buffers fill."""
SAMPLE_SECONDS: Final = 0.02


def main(streams: Mapping[str, Stream], packages: tuple[str, ...]) -> None:
    """Runs one verb with one of the streams and prints its result.

    Args:
      streams: by name.
      packages: whose versions to print.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=("speed", "memory"))
    parser.add_argument("stream", choices=streams)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=3.0, help="of timing")
    parser.add_argument("--digests", type=Path, help="then save a digest of every element of an epoch here")
    parser.add_argument("--batches", type=int, help="of so many batches of it only")
    parser.add_argument("--values", type=Path, help="then save the first batch here")
    arguments = parser.parse_args()
    stream, folder = streams[arguments.stream], arguments.folder
    if arguments.verb == "speed":
        result = speed(stream(folder, True), arguments.seconds)
        result["versions"] = " ".join(f"{name} {metadata.version(name)}" for name in packages)
    else:
        result = memory(stream(folder, False))
    if arguments.digests is not None:
        found = map(digests, itertools.islice(stream(folder, False), arguments.batches))
        np.save(arguments.digests, np.concatenate(list(found)))
    if arguments.values is not None:
        np.savez(arguments.values, **next(stream(folder, False)))
    print(json.dumps(result))


def speed(batches: Iterator[Batch], seconds: float) -> dict[str, Any]:
    """Elements per second of wall time and of CPU time of all threads, once the stream has warmed up."""
    warm = time.perf_counter() + WARM_SECONDS
    touch(next(batches))
    while time.perf_counter() < warm:
        touch(next(batches))
    count, begin, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() < begin + seconds:
        count += touch(next(batches))
    wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    return {"per_second": count / wall, "per_cpu_second": count / cpu, "peak_mib": _peak_mib()}


def touch(batch: Batch) -> int:
    """Reads a byte of every page, so that nothing can stay lazy; returns the number of elements."""
    for name, field in batch.items():
        if name.endswith("observation"):
            np.ascontiguousarray(field).reshape(-1).view(np.uint8)[:: resource.getpagesize()].sum()
    return len(next(iter(batch.values())))


def digests(batch: Batch) -> np.ndarray:
    """64 bits of each element: of the bytes of its fields, which are taken in the order of their names."""
    fields = [np.ascontiguousarray(batch[name]) for name in sorted(batch)]
    count = len(fields[0])
    rows = [field.reshape(count, -1).view(np.uint8).reshape(count, -1) for field in fields]
    return np.array([_digest(row[index] for row in rows) for index in range(count)], np.uint64)


def _digest(parts: Iterator[np.ndarray]) -> int:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part)
    return int.from_bytes(digest.digest(), "little")


def memory(batches: Iterator[Batch]) -> dict[str, Any]:
    """Resident memory over an epoch: pairs of elements delivered and MiB; `elements` in the end."""
    delivered, samples, stop = 0, [(0, _resident_mib())], threading.Event()

    def sample() -> None:
        while not stop.wait(SAMPLE_SECONDS):
            samples.append((delivered, _resident_mib()))

    thread = threading.Thread(target=sample)
    thread.start()
    for batch in batches:
        delivered += touch(batch)
    stop.set()
    thread.join()
    samples.append((delivered, _resident_mib()))
    return {"elements": delivered, "samples": samples, "peak_mib": _peak_mib()}


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def _peak_mib() -> float:
    """Of this program: what `getrusage` says includes the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
