"""Files of Google's C++ writer: both implementations read the same records. `tests/convert` knows what they mean."""

import io
from pathlib import Path

import pytest

from rlds_kit.riegeli import RecordReader, RecordWriter, _pure_transposed, transposed

GOLDEN = Path(__file__).parent.parent / "data" / "envlogger"
FILES = sorted(str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*.riegeli"))


def read(name: str) -> list[tuple[int, bytes]]:
    """Return the records of a golden file with their positions."""
    with RecordReader(GOLDEN / name) as reader:
        found = [(reader.last_position, record) for record in reader]
        assert reader.truncated is None
    return found


@pytest.mark.parametrize("name", FILES)
def test_records_do_not_depend_on_the_implementation(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every record of every golden file has the same bytes and position in C and in Python."""
    found = read(name)
    monkeypatch.setattr(transposed, "_expand", _pure_transposed.expand)
    assert found == read(name)
    assert found or name.endswith("episode_metadata.riegeli")


@pytest.mark.parametrize(("case", "options"), [("simple_none", "uncompressed"), ("simple_snappy", "snappy")])
def test_our_writer_writes_what_cpp_writes(case: str, options: str) -> None:
    """The same records under the same options make the same file, byte for byte."""
    path = next((GOLDEN / case).glob("*/steps.riegeli"))
    file = io.BytesIO()
    with RecordReader(path) as reader, RecordWriter(file, options) as writer:
        for record in reader:
            writer.write_record(record)
    assert file.getvalue() == path.read_bytes()
