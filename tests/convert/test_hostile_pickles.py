"""Pickles that attack their reader: ours are refused; what Python's own unpickler does is in decision 0036."""

import signal
import struct
import subprocess
import sys
import textwrap
from typing import Final

import pytest

from rlds_kit.convert.crowdplay.restricted_unpickler import RefusedPickleError, loads

DEEP_KEY: Final = b"\x80\x04})" + b"\x85" * 1_000_000 + b"K\x01s."
"""A dict whose key is a tuple, nested a million times: its hash recurses in C until the stack overflows."""
WIDE_KEY: Final = b"\x80\x04})" + b"".join(b"\x94h" + bytes([i]) + b"\x86" for i in range(60)) + b"K\x01s."
"""248 bytes: a key of 60 pairs, each of the one before it twice, whose hash takes 2 ** 60 operations."""

ATTACKS: Final = {
    "deep key": (DEEP_KEY, "deeper than 32"),
    "deep item of a set": (b"\x80\x04\x8f()" + b"\x85" * 1_000_000 + b"\x90.", "deeper than 32"),
    "wide key": (WIDE_KEY, "nests containers|the same ones again"),
    "list of shared lists": (
        b"\x80\x04]" + b"".join(b"\x94](h" + bytes([i, 104, i]) + b"e" for i in range(30)) + b".",
        "the same ones again",
    ),
    "memo of 34 GB": (b"\x80\x04Nr\xff\xff\xff\x7f0h\x00.", "without a value"),
    "bytes of 1 TB": (b"\x80\x04\x8e" + struct.pack("<Q", 1 << 40), "announces a value"),
    "state of a function": (b"\x80\x04cnumpy._core.multiarray\n_reconstruct\nN}b.", "has none|no arguments"),
    "state of a dtype": (
        b"\x80\x04cnumpy\ndtype\nX\x02\x00\x00\x00u1\x89\x89\x87R(K\x03X\x01\x00\x00\x00|N(X\x01\x00\x00\x00at}tb.",
        "a dtype with fields",
    ),
    "array of 10 GB": (
        b"\x80\x04cnumpy._core.multiarray\n_reconstruct\ncnumpy\nndarray\n\x8a\x05\x00\x00\x00\x00\x02\x85C\x01b\x87R.",
        "a way that NumPy does not",
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_are_refused(name: str) -> None:
    """Before anything large is allocated, hashed or walked through."""
    data, message = ATTACKS[name]
    with pytest.raises(RefusedPickleError, match=message):
        loads(data)


STANDARD_LIBRARY: Final = """
    import io, pickle, pickletools, resource, sys
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    class Nothing(pickle.Unpickler):
        def find_class(self, module, name):
            raise pickle.UnpicklingError(name)
    data = sys.stdin.buffer.read()
    for number, (opcode, argument, _) in enumerate(pickletools.genops(data)):
        assert opcode.name in {"PROTO", "EMPTY_DICT", "EMPTY_TUPLE", "TUPLE1", "TUPLE2", "MEMOIZE", "BINGET", "BININT1",
                               "SETITEM", "STOP"}
    print("scanned", flush=True)
    Nothing(io.BytesIO(data)).load()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process, and how it dies, as Linux has them")
@pytest.mark.skipif(sys.version_info >= (3, 14), reason="tuples remember their hash since Python 3.14")
@pytest.mark.parametrize(("data", "death"), [(DEEP_KEY, "SIGSEGV"), (WIDE_KEY, "SIGXCPU")], ids=["deep", "wide"])
def test_the_standard_library_does_not_survive_them(data: bytes, death: str) -> None:
    """`pickle.Unpickler` that allows no name, after a scan of all opcodes: its process crashes, or never returns."""
    code = [sys.executable, "-c", textwrap.dedent(STANDARD_LIBRARY)]
    done = subprocess.run(code, input=data, capture_output=True, check=False)
    assert (done.stdout, signal.Signals(-done.returncode).name.replace("KILL", "XCPU")) == (b"scanned\n", death)
