"""Runs every test of the container on both implementations: the C extension and its pure-Python twin."""

from collections.abc import Iterator

import pytest

from rlds_kit.riegeli import _pure_hash, _pure_transposed, transposed
from rlds_kit.riegeli import hash as highway
from rlds_kit.riegeli._implementation import native


@pytest.fixture(params=["native", "pure"], scope="module", autouse=True)
def implementation(request: pytest.FixtureRequest) -> Iterator[str]:
    """Select what hashes and what runs transposed chunks while a module's tests run."""
    name: str = request.param
    if name == "native" and native is None:
        pytest.skip("the C extension is absent: no compiler when this was installed, or RLDS_KIT_PURE=1")
    hashing, machine = (_pure_hash, _pure_transposed) if name == "pure" or native is None else (native, native)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(highway, "_hash64", hashing.highway_hash64)
        patch.setattr(transposed, "_expand", machine.expand)
        yield name


@pytest.fixture
def repeats(implementation: str) -> int:
    """How often to repeat a random experiment: Python hashes some hundred times slower than C."""
    return 200 if implementation == "native" else 12
