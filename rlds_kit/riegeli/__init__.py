"""Reads and writes Riegeli/records files: every chunk of records has a checksum, so damage affects only its chunk.

The format is Google's, https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md.
Reads simple and transposed chunks, uncompressed or in Brotli, Zstandard or Snappy; writes what any other
reader accepts.
"""

from rlds_kit.riegeli._implementation import native
from rlds_kit.riegeli.chunk_reader import Truncation
from rlds_kit.riegeli.errors import DamagedError, MissingCodecError, OptionsError, RiegeliError, TruncatedWarning
from rlds_kit.riegeli.reader import RecordReader
from rlds_kit.riegeli.recovery import SkippedRegion
from rlds_kit.riegeli.writer import RecordWriter

HAS_EXTENSION = native is not None
"""Whether the C extension does the work; else its twins in Python do, with the same results."""

__all__ = [
    "HAS_EXTENSION",
    "DamagedError",
    "MissingCodecError",
    "OptionsError",
    "RecordReader",
    "RecordWriter",
    "RiegeliError",
    "SkippedRegion",
    "TruncatedWarning",
    "Truncation",
]
