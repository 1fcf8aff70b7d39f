"""Reads pickles that contain only data, without importing or calling anything that they name.

It supports the opcodes of numbers, text, bytes and containers (protocols 3 to 5; `pickletools` in the standard library
describes each), and NumPy arrays, scalars and dtypes, `OrderedDict`, `datetime` and `timedelta` (`pickled_data.py`). It
rejects everything else by name, and containers that contain themselves. Decision 0036 explains why this is not
`pickle.Unpickler` with an allow-list: a pickle can crash that one.
"""

import io
import pickletools
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, Final

from rlds_kit.base.errors import FormatError
from rlds_kit.convert.crowdplay.pickled_data import GLOBALS, ArrayShell, DtypeShell, Global

Value = Any
"""NumPy arrays, scalars and dtypes, numbers, bool, str, bytes, None, datetimes, and containers of them."""

_PIECE: Final = 1 << 20
_NAME_BYTES: Final = 1 << 10
_PROTOCOLS: Final = range(3, 6)
_LARGEST_INT: Final = 1 << 13
"""Bits of an integer."""


@dataclass(frozen=True)
class Limits:
    """Limits of a pickle, so that a few bytes cannot use all memory or time.

    Attributes:
      depth: of containers within containers.
      value_bytes: of one text, bytes object or array.
      total_bytes: of the whole pickle, unpacked.
      operations: of the whole pickle.
      values: in a container and in all containers inside it; shared ones count each time.
    """

    depth: int = 32
    value_bytes: int = 1 << 28
    total_bytes: int = 1 << 34
    operations: int = 1 << 28
    values: int = 1 << 28


class RefusedPickleError(FormatError):
    """A pickle is broken, or contains more than data. Nothing that it names was imported or called."""


def loads(data: bytes, limits: Limits = Limits()) -> Value:
    """Returns the value in a pickle.

    Raises:
      RefusedPickleError: it contains something that is not data, is broken, or exceeds a limit.

    >>> import pickle
    >>> loads(pickle.dumps({"score": 200, "frames": [1, 2]}))
    {'score': 200, 'frames': [1, 2]}
    >>> loads(pickle.dumps(exec))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    rlds_kit.convert.crowdplay.restricted_unpickler.RefusedPickleError: at byte 30: names builtins.exec, ...
    """
    return load(io.BytesIO(data), limits)


def load(file: IO[bytes], limits: Limits = Limits()) -> Value:
    """Returns the value in a file with a pickle; its arrays are read-only.

    Raises:
      RefusedPickleError: it contains something that is not data, is broken, or exceeds a limit.
    """
    return _Machine(file, limits).run()


class _Container:
    """A container while it is built: its value, its depth, and the number of its values as `Limits` counts them.

    It also records whether it is in another container already.
    """

    __slots__ = ("count", "depth", "is_placed", "value")

    def __init__(self, value: Value, depth: int = 1) -> None:
        self.value, self.depth, self.count, self.is_placed = value, depth, 1, False


class _LimitedFile:
    """A file for `pickletools.genops` that reads no more than the limits allow, and allocates no more than there is."""

    def __init__(self, file: IO[bytes], limits: Limits) -> None:
        self._file, self._limits, self._position = file, limits, 0

    def tell(self) -> int:
        return self._position

    def read(self, size: int) -> bytes:
        if size > self._limits.value_bytes:
            raise ValueError(f"announces a value of {size} bytes, more than {self._limits.value_bytes}")
        data = self._counted(self._file.read(min(size, _PIECE)))
        if len(data) == size:
            return data
        pieces, size = [data], size - len(data)
        while size and (piece := self._counted(self._file.read(min(size, _PIECE)))):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def readline(self) -> bytes:
        return self._counted(self._file.readline(_NAME_BYTES))

    def _counted(self, data: bytes) -> bytes:
        self._position += len(data)
        if self._position > self._limits.total_bytes:
            raise ValueError(f"has more than {self._limits.total_bytes} bytes")
        return data


class _Machine:
    """Runs the opcodes of a pickle. Its stack has plain values, containers, and unfinished arrays and dtypes."""

    def __init__(self, file: IO[bytes], limits: Limits) -> None:
        self._file, self._limits = _LimitedFile(file, limits), limits
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []
        self._memo: dict[int, Any] = {}

    def run(self) -> Value:
        try:
            return self._run()
        except (IndexError, KeyError) as error:
            raise self._refusal("takes from an empty stack, or from a place of the memo without a value") from error
        except RefusedPickleError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise self._refusal(str(error)) from error
        except (EOFError, OSError, zlib.error) as error:
            raise self._refusal(f"cannot be decompressed: {error}") from error

    def _run(self) -> Value:
        for number, (opcode, argument, _) in enumerate(pickletools.genops(self._file)):  # type: ignore[arg-type]  # reads
            if number >= self._limits.operations:
                raise self._refusal(f"has more than {self._limits.operations} operations")
            if opcode.name in _CONSTANTS:
                self._stack.append(_CONSTANTS[opcode.name])
            elif opcode.name in _PLAIN:
                self._stack.append(bytes(argument) if isinstance(argument, bytearray) else argument)
            elif opcode.name in _BUILDING:
                build, count = _BUILDING[opcode.name]
                build(self, self._taken(count))
            elif opcode.name == "GLOBAL":
                self.global_(str(argument).split(" ", 1))
            elif opcode.name in _OPERATIONS:
                _OPERATIONS[opcode.name](self, *(() if opcode.arg is None else (argument,)))
            elif opcode.name != "STOP":
                raise self._refusal(f"has the opcode {opcode.name}, which data does not need")
        return self._result()

    def _result(self) -> Value:
        value = self._plain(self._stack.pop())
        if self._stack or self._below:
            raise self._refusal("ends with values left over")
        if self._file.read(1):
            raise self._refusal("is followed by other bytes")
        return value

    def _refusal(self, what: str) -> RefusedPickleError:
        return RefusedPickleError(
            f"at byte {self._file.tell()}: {what}; only NumPy arrays, numbers, text, dates and containers of them are "
            "read, and nothing that a pickle names is imported or called"
        )

    # The stack.

    def _plain(self, item: Any) -> Value:
        """The value of an item of the stack that is finished."""
        if isinstance(item, _Container):
            item.is_placed = True
            return item.value
        if isinstance(item, ArrayShell):
            return item.array()
        if isinstance(item, DtypeShell):
            return item.dtype()
        if isinstance(item, _Arguments):
            return tuple(self._plain(each) for each in item.items)
        if isinstance(item, Global):
            raise self._refusal(f"holds {item.name} itself")
        return item

    def _taken(self, count: int | None) -> list[Any]:
        """Removes this many items from the stack; None: all above the mark."""
        if count is None:
            items, self._stack = self._stack, self._below.pop()
            return items
        at = len(self._stack) - count
        if at < 0:
            raise IndexError
        items = self._stack[at:]
        del self._stack[at:]
        return items

    def _placed(self, items: list[Any], container: _Container) -> list[Value]:
        """The values of items that are added to a container."""
        if container.is_placed:
            raise self._refusal("changes a container that is part of another one")
        container.depth = max(
            container.depth, 1 + max((item.depth for item in items if isinstance(item, _Container)), default=0)
        )
        if container.depth > self._limits.depth:
            raise self._refusal(f"nests containers deeper than {self._limits.depth}")
        # A list that the next one contains twice, and so on: thirty of these make a billion values.
        container.count += sum(item.count if isinstance(item, _Container) else 1 for item in items)
        if container.count > self._limits.values:
            raise self._refusal(f"holds more than {self._limits.values} values, the same ones again and again")
        if any(item is container for item in items):
            raise self._refusal("puts a container into itself")
        return [self._plain(item) for item in items]

    # Operations.

    def proto(self, protocol: int) -> None:
        if protocol not in _PROTOCOLS:
            raise self._refusal(f"is of protocol {protocol}; expected {_PROTOCOLS[0]} to {_PROTOCOLS[-1]}")

    def mark(self) -> None:
        self._below.append(self._stack)
        self._stack = []

    def pop(self) -> None:
        self._stack.pop()

    def put(self, place: int | None = None) -> None:
        self._memo[len(self._memo) if place is None else place] = self._stack[-1]

    def get(self, place: int) -> None:
        self._stack.append(self._memo[place])

    def integer(self, value: int) -> None:
        if value.bit_length() > _LARGEST_INT:
            raise self._refusal(f"has an integer of {value.bit_length()} bits")
        self._stack.append(value)

    def empty(self, kind: Callable[[], Value]) -> None:
        self._stack.append(_Container(kind()))

    def tuple_(self, items: list[Any]) -> None:
        if any(isinstance(item, Global | DtypeShell) for item in items):
            if any(isinstance(item, _Arguments) for item in items):
                raise self._refusal("nests what dtypes are part of")
            self._stack.append(_Arguments(items))
            return
        container = _Container(None)
        container.value = tuple(self._placed(items, container))
        self._stack.append(container)

    def extend(self, items: list[Any]) -> None:
        container = self._top(list)
        container.value.extend(self._placed(items, container))

    def update(self, items: list[Any]) -> None:
        if len(items) % 2:
            raise self._refusal("has a key without a value")
        container = self._top(dict)
        values = self._placed(items, container)
        container.value.update(zip(values[::2], values[1::2], strict=True))

    def add(self, items: list[Any]) -> None:
        container = self._top(set)
        container.value.update(self._placed(items, container))

    def _top(self, kind: type) -> _Container:
        top = self._stack[-1]
        if not isinstance(top, _Container) or not isinstance(top.value, kind):
            raise self._refusal(f"adds items to what is no {kind.__name__}")
        return top

    def global_(self, items: list[Any]) -> None:
        module, name = items
        if not isinstance(name, str) or not isinstance(module, str):
            raise self._refusal("names something by what is no text")
        found = GLOBALS.get((module, name))
        if found is None:
            raise self._refusal(f"names {module}.{name}, which is not data")
        self._stack.append(found)

    def reduce(self) -> None:
        given, function = self._stack.pop(), self._stack.pop()
        if not isinstance(function, Global) or function.make is None:
            raise self._refusal("calls what cannot be called")
        arguments = self._arguments(given)
        made = function.make(*arguments)
        self._check_size(made)
        self._stack.append(_Container(made) if isinstance(made, dict) else made)

    def _arguments(self, given: Any) -> tuple[Any, ...]:
        if isinstance(given, _Arguments):
            return tuple(item if isinstance(item, Global | DtypeShell) else self._plain(item) for item in given.items)
        if isinstance(given, _Container) and isinstance(given.value, tuple):
            return given.value
        raise self._refusal("calls with what are no arguments")

    def build(self) -> None:
        state, shell = self._stack.pop(), self._stack[-1]
        if not isinstance(shell, ArrayShell | DtypeShell):
            raise self._refusal("sets the state of what has none")
        shell.fill(*self._arguments(state))
        self._check_size(shell)

    def _check_size(self, made: Any) -> None:
        size = made.nbytes if isinstance(made, ArrayShell) else 0
        if size > self._limits.value_bytes:
            raise self._refusal(f"holds an array of {size} bytes, more than {self._limits.value_bytes}")


@dataclass(frozen=True)
class _Arguments:
    """A tuple with unfinished items: the arguments of an array."""

    items: list[Any]


_CONSTANTS: Final = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_PLAIN: Final = {
    *("BININT", "BININT1", "BININT2", "BINFLOAT", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
    *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8"),  # the last one has the bytes of an array
}
"""Opcodes that push their argument."""
_OPERATIONS: Final[dict[str, Callable[..., None]]] = {
    "PROTO": _Machine.proto,
    "FRAME": lambda *_: None,
    "MARK": _Machine.mark,
    "POP": _Machine.pop,
    **dict.fromkeys(("MEMOIZE", "BINPUT", "LONG_BINPUT"), _Machine.put),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), _Machine.get),
    **dict.fromkeys(("LONG1", "LONG4"), _Machine.integer),
    "EMPTY_LIST": partial(_Machine.empty, kind=list),
    "EMPTY_DICT": partial(_Machine.empty, kind=dict),
    "EMPTY_SET": partial(_Machine.empty, kind=set),
    "REDUCE": _Machine.reduce,
    "BUILD": _Machine.build,
}
_BUILDING: Final[dict[str, tuple[Callable[[_Machine, list[Any]], None], int | None]]] = {
    "EMPTY_TUPLE": (_Machine.tuple_, 0),
    "TUPLE1": (_Machine.tuple_, 1),
    "TUPLE2": (_Machine.tuple_, 2),
    "TUPLE3": (_Machine.tuple_, 3),
    "TUPLE": (_Machine.tuple_, None),
    "APPEND": (_Machine.extend, 1),
    "APPENDS": (_Machine.extend, None),
    "SETITEM": (_Machine.update, 2),
    "SETITEMS": (_Machine.update, None),
    "ADDITEMS": (_Machine.add, None),
    "STACK_GLOBAL": (_Machine.global_, 2),
}
"""Opcodes that take this number of items from the stack; None: all above the mark."""
