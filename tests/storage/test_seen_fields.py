"""What a shard has described so far: each new form of a field once, whatever was remembered of blocks before."""

import numpy as np
import pytest

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.spec import value
from rlds_kit.spec.message import from_message, to_message
from rlds_kit.storage import amendment
from rlds_kit.storage.amendment import SeenFields
from rlds_kit.storage.column import Column
from rlds_kit.storage.leaf import ColumnKey

ROWS = np.arange(2)


def _trees(item: object) -> Column:
    data = np.frombuffer(value.encode(item).SerializeToString(), np.uint8)
    return Column(ColumnKey("info", pb.TREE, None, 1), ROWS, np.stack([data, data]))


def _scalars(number: int) -> Column:
    return Column(ColumnKey("reward", pb.INT, None, 0), ROWS, np.array([1, number]))


def _found(seen: SeenFields, column: Column) -> specs.Spec | None:
    found = seen.amendment([column])
    if found is None:
        return None
    spec = from_message(found)
    assert isinstance(spec, specs.Dict)
    return spec.fields[column.key.path]


def test_a_value_of_as_many_bytes_as_the_empty_dict_is_another_one() -> None:
    """The empty list and the empty tuple are encoded in as many bytes."""
    seen = SeenFields(to_message(specs.Dict({})))
    assert [_found(seen, _trees({})) for _ in range(3)] == [specs.Dict({}), None, None]
    assert _found(seen, _trees([])) == specs.Any()
    later: tuple[object, ...] = {}, [], ()
    assert [_found(seen, _trees(each)) for each in later] == [None] * 3


def test_scalars_are_compared_by_value_in_each_block() -> None:
    """Floats are declared: integers that a float can represent match, and no others."""
    seen = SeenFields(to_message(specs.Dict({"reward": specs.Array((), np.float64)})))
    assert [_found(seen, _scalars(5)) for _ in range(2)] == [None, None]
    assert _found(seen, _scalars((1 << 53) + 1)) == specs.Array((), np.int64)


@pytest.mark.parametrize("most", [0, 1 << 12])
def test_a_shape_that_the_declaration_lacks_is_described(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """After many blocks of the declared one, and whether these are remembered or not."""
    monkeypatch.setattr(amendment, "_MOST_FORMS", most)
    seen = SeenFields(to_message(specs.Dict({"x": specs.Array((2,), np.float32)})))
    key = ColumnKey("x", pb.ARRAY, np.dtype(np.float32), 1)
    fitting, other = (Column(key, ROWS, np.zeros((2, size), np.float32)) for size in (2, 3))
    assert [_found(seen, fitting) for _ in range(3)] == [None] * 3
    assert _found(seen, other) == specs.Array((3,), np.float32)
    wide = Column(key._replace(dtype=np.dtype(np.float64)), ROWS, np.zeros((2, 2)))
    assert _found(seen, wide) == specs.Array((2,), np.float64)


def test_blocks_of_known_columns_need_none_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of the columns of a buffer depends on its first row; some rows may lack infos."""
    monkeypatch.setattr(amendment, "_MOST_SETTLED", 3)
    seen, block = SeenFields(to_message(specs.Dict({}))), [_trees({}), _scalars(5)]

    def need_none(*columns: Column) -> bool:
        return seen.needs_none([(column.key, column.values.shape[1:]) for column in columns])

    assert not need_none(*block)
    assert seen.amendment(block) is not None
    assert need_none(*block)
    assert need_none(*block[::-1])
    assert not need_none(block[1])
    assert seen.amendment(block[:1]) is None
    assert all(need_none(*each) for each in (block, block[::-1], block[:1]))
    wide = Column(block[1].key._replace(path="wide"), ROWS, np.array([1, 2]))
    assert seen.amendment([wide]) is not None  # the third one
    assert need_none(*block)
    assert seen.amendment([wide, block[0]]) is None
    assert need_none(wide, block[0])
    assert not need_none(*block)  # it was forgotten
    assert seen.amendment(block) is None
    assert need_none(*block)


def test_an_item_that_a_later_block_lacks_is_described_after_blocks_of_the_same_columns() -> None:
    """Of a declared dict, rows without an item count: the columns alone do not tell."""
    number = specs.Array((), np.float64)
    seen = SeenFields(to_message(specs.Dict({"info": specs.Dict({"a": number, "b": number})})))
    keys = [ColumnKey(f"info/{name}", pb.ARRAY, np.dtype(np.float64), 0) for name in "ab"]
    first, second = (Column(key, ROWS, np.zeros(2)) for key in keys)
    assert [seen.amendment([first, second]) for _ in range(2)] == [None, None]
    assert not seen.needs_none([(key, ()) for key in keys])
    assert seen.amendment([first, Column(keys[1], ROWS[:1], np.zeros(1))]) is not None
