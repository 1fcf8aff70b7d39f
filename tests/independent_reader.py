"""A reader of format version 1, written from docs/format.md alone: it shares no code with rlds_kit.

It checks every hash and every rule that the page states, and raises ValueError where one is broken. Values come out as
the truth in `tests/data/v1` states them: `["array", dtype, shape, bytes]`, `["int", number]`, ...
"""

import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import xxhash
import zstandard

Message = dict[int, list[Any]]
"""Field number to all its values: ints, and bytes for what has a length or a fixed size."""
Value = list[Any]
KEY = struct.unpack("<4Q", b"Riegeli/records\nRiegeli/records\n")
MASK = (1 << 64) - 1
ORDER = (3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7)
KINDS = (
    *("array", "scalar", "bool", "int", "big_int", "float", "complex", "text", "bytes", "none", "tree"),
    *("numpy_text", "numpy_bytes"),
)
ITEM_SIZES = {"int": 8, "float": 8, "complex": 16}
DTYPE_SIZES = {"bool": 1, "bfloat16": 2, "complex64": 8, "complex128": 16}
ENDS = {1: "TERMINATED", 2: "TRUNCATED", 3: "INTERRUPTED"}
DISCARDED = 4
MAGIC = 0x71930E704FDAE05E


def require(condition: object, what: str) -> None:
    """Raises ValueError if a rule is broken."""
    if not condition:
        raise ValueError(what)


# -- HighwayHash (section 12) ------------------------------------------------------------------------------------------


def highway_hash(data: bytes) -> int:
    """HighwayHash-64 under Riegeli's key."""
    m0 = [0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3]
    m1 = [0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377]
    v0 = [lane ^ key for lane, key in zip(m0, KEY, strict=True)]
    v1 = [lane ^ _swap(key) for lane, key in zip(m1, KEY, strict=True)]

    def update(packet: tuple[int, ...]) -> None:
        for i in range(4):
            v1[i] = (v1[i] + m0[i] + packet[i]) & MASK
            m0[i] ^= (v1[i] & 0xFFFFFFFF) * (v0[i] >> 32)
            v0[i] = (v0[i] + m1[i]) & MASK
            m1[i] ^= (v0[i] & 0xFFFFFFFF) * (v1[i] >> 32)
        v0[:] = [(a + b) & MASK for a, b in zip(v0, _zip(v1), strict=True)]
        v1[:] = [(a + b) & MASK for a, b in zip(v1, _zip(v0), strict=True)]

    whole, r = len(data) - len(data) % 32, len(data) % 32
    for at in range(0, whole, 32):
        update(struct.unpack_from("<4Q", data, at))
    if r:
        v0[:] = [(lane + (r << 32) + r) & MASK for lane in v0]
        v1[:] = [_rotate(lane >> 32, r) << 32 | _rotate(lane & 0xFFFFFFFF, r) for lane in v1]
        tail, w = data[whole:], r - r % 4
        q = bytearray(32)
        q[:w] = tail[:w]
        if r >= 16:
            q[28:] = tail[-4:]
        elif r % 4:
            c = tail[w:]
            q[16], q[17], q[18] = c[0], c[r % 4 // 2], c[r % 4 - 1]
        update(struct.unpack("<4Q", q))
    for _ in range(4):
        update((_swap(v0[2]), _swap(v0[3]), _swap(v0[0]), _swap(v0[1])))
    return (v0[0] + v1[0] + m0[0] + m1[0]) & MASK


def _swap(lane: int) -> int:
    return lane >> 32 | (lane & 0xFFFFFFFF) << 32


def _rotate(half: int, bits: int) -> int:
    return (half << bits | half >> (32 - bits)) & 0xFFFFFFFF


def _zip(lanes: list[int]) -> list[int]:
    data = struct.pack("<4Q", *lanes)
    return list(struct.unpack("<4Q", bytes(data[pair + j] for pair in (0, 16) for j in ORDER)))


# -- Riegeli (section 2) -----------------------------------------------------------------------------------------------


def chunk(data: bytes, begin: int) -> tuple[int, list[bytes], int] | None:
    """Type, records and end of the chunk at `begin`; None if the file ends inside it."""
    header = _payload(data, begin, 40)
    if len(header) < 40:
        return None
    header_hash, data_size, data_hash, type_and_count, decoded_size = struct.unpack("<5Q", header)
    require(highway_hash(header[8:]) == header_hash, f"chunk header at {begin}")
    chunk_type, count = type_and_count & 255, type_and_count >> 8
    near = begin + count
    rounded = near - near % 65536 + 25 if 1 <= near % 65536 <= 24 else near
    end = max(_with_headers(begin, 40 + data_size), rounded)
    if end > len(data):
        return None
    content = _payload(data, begin, 40 + data_size)[40:]
    require(highway_hash(content) == data_hash, f"data of the chunk at {begin}")
    for boundary in range(-(-begin // 65536) * 65536, end, 65536):
        hashed, previous, following = struct.unpack_from("<3Q", data, boundary)
        require(highway_hash(data[boundary + 8 : boundary + 24]) == hashed, f"block header at {boundary}")
        require((previous, following) == (boundary - begin, end - boundary), f"block header at {boundary}")
    records = _records(content, count) if chunk_type == ord("r") else []
    require(sum(map(len, records)) == decoded_size, f"sizes of the chunk at {begin}")
    return chunk_type, records, end


def _with_headers(begin: int, n: int) -> int:
    return begin + n + 24 * ((n + (begin + 65511) % 65536) // 65512)


def _payload(data: bytes, begin: int, size: int) -> bytes:
    """Up to `size` bytes of the chunk at `begin`, without block headers."""
    pieces, at = [], begin
    while size > 0 and at < len(data):
        if at % 65536 == 0:
            at += 24
        room = min(size, 65536 - at % 65536)
        pieces.append(data[at : at + room])
        at, size = at + room, size - room
    return b"".join(pieces)


def _records(content: bytes, count: int) -> list[bytes]:
    require(content[0] == 0, "compression is none")
    length, at = varint(content, 1)
    end, sizes = at + length, []
    while at < end:
        size, at = varint(content, at)
        sizes.append(size)
    require(at == end and len(sizes) == count and end + sum(sizes) == len(content), "sizes of records")
    records = []
    for size in sizes:
        records.append(content[at : at + size])
        at += size
    return records


# -- protobuf ----------------------------------------------------------------------------------------------------------


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A varint and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def message(data: bytes) -> Message:
    """The fields of a message."""
    fields: Message = {}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value: Any
            value, at = varint(data, at)
        else:
            size = 8
            if tag & 7 == 2:
                size, at = varint(data, at)
            else:
                require(tag & 7 == 1, f"wire type {tag & 7}")
            require(at + size <= len(data), "a message is cut short")
            value, at = data[at : at + size], at + size
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def number(fields: Message, key: int) -> int:
    """An unsigned number; 0 if it is not there. A fixed64 too."""
    value = fields.get(key, [0])[-1]
    return int.from_bytes(value, "little") if isinstance(value, bytes) else int(value)


def signed(fields: Message, key: int) -> int:
    """An int64."""
    value = number(fields, key)
    return value - (1 << 64) if value >> 63 else value


def raw(fields: Message, key: int) -> bytes:
    """Bytes, or a message that is not parsed yet; empty if it is not there."""
    return bytes(fields.get(key, [b""])[-1])


def numbers(fields: Message, key: int) -> list[int]:
    """A repeated number, packed or not."""
    found: list[int] = []
    for value in fields.get(key, []):
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            one, at = varint(value, at)
            found.append(one)
    return found


# -- values (section 6) ------------------------------------------------------------------------------------------------


def text(data: bytes) -> str:
    """UTF-8, with lone surrogates."""
    return data.decode("utf-8", "surrogatepass")


def tree(data: bytes) -> Value:
    """A serialized `Value`."""
    ((key, values),) = message(data).items()
    content = values[-1]
    match key:
        case 1:
            return ["none"]
        case 2:
            return ["bool", bool(content)]
        case 3:
            return ["int", str(content >> 1 ^ -(content & 1))]
        case 4:
            return ["int", str(int.from_bytes(content, "big", signed=True))]
        case 5:
            return ["float", content]
        case 6:
            parts = message(content)
            return ["complex", b"".join(raw(parts, each).ljust(8, b"\0") for each in (1, 2))]
        case 7:
            return ["text", text(content)]
        case 8:
            return ["bytes", content]
        case 9 | 10:
            array = message(content)
            return ["array" if key == 9 else "scalar", raw(array, 1).decode(), numbers(array, 2), raw(array, 3)]
        case 11 | 12:
            return ["list" if key == 11 else "tuple", [tree(item) for item in message(content).get(1, [])]]
        case 13:
            entries = message(content)
            pairs = zip(entries.get(1, []), entries.get(2, []), strict=True)
            return ["dict", [[tree(name), tree(item)] for name, item in pairs]]
    raise ValueError(f"value of kind {key}")


def item_size(kind: str, dtype: str) -> int:
    """Bytes of an element."""
    if kind not in ("array", "scalar"):
        return ITEM_SIZES.get(kind, 1)
    bare = dtype.removeprefix(">")
    if bare in DTYPE_SIZES:
        return DTYPE_SIZES[bare]
    fixed = re.fullmatch(r"[<>|]([US])(\d+)", dtype)
    if fixed:
        return int(fixed[2]) * (4 if fixed[1] == "U" else 1)
    sized = re.fullmatch(r"(?:u?int|float)(\d+)", bare)
    require(sized, f"dtype {dtype}")
    return int(sized[1]) // 8 if sized else 0


def exact(kind: str, dtype: str, shape: tuple[int, ...], data: bytes) -> Value:
    """A value of a column."""
    match kind:
        case "array" | "scalar":
            return [kind, dtype, list(shape), data]
        case "bool":
            return [kind, data == b"\x01"]
        case "int":
            return [kind, str(int.from_bytes(data, "little", signed=True))]
        case "big_int":
            return ["int", str(int.from_bytes(data, "big", signed=True))]
        case "float" | "complex" | "bytes" | "numpy_bytes":
            return [kind, data]
        case "text" | "numpy_text":
            return [kind, text(data)]
        case "none":
            return [kind]
    return tree(data)


# -- columns (sections 4, 6, 7) ----------------------------------------------------------------------------------------


@dataclass
class Column:
    """A decoded column: the rows that have a value, their shapes and their bytes."""

    path: str
    kind: int
    dtype: str
    rank: int
    rows: list[int]
    shapes: list[tuple[int, ...]]
    values: list[bytes]

    def items(self) -> Iterator[tuple[int, Value]]:
        """Rows and exact values."""
        for row, shape, data in zip(self.rows, self.shapes, self.values, strict=True):
            yield row, exact(KINDS[self.kind], self.dtype, shape, data)


def column(header: Message, payload: bytes) -> Column:
    """Decodes a payload."""
    require(len(payload) == number(header, 13), "length of a payload")
    require(xxhash.xxh3_64_intdigest(payload) == number(header, 15), "hash of a payload")
    kind, dtype, rank = number(header, 2), raw(header, 3).decode(), number(header, 7)
    first, count, decoded = number(header, 4), number(header, 5), number(header, 14)
    if number(header, 11) == 1:
        payload = zstandard.ZstdDecompressor().decompress(payload, max_output_size=decoded)
    else:
        require(number(header, 11) == 0, "codec")
    require(len(payload) == decoded, "decoded length")
    at, rows = 0, list(range(first, first + count))
    if number(header, 6):
        at = (count + 7) // 8
        rows = [first + i for i in range(count) if payload[i // 8] >> i % 8 & 1]
    size = item_size(KINDS[kind], dtype)
    if number(header, 8):
        flat = struct.unpack_from(f"<{rank * len(rows)}I", payload, at)
        at += 4 * len(flat)
        shapes = [tuple(flat[i * rank : (i + 1) * rank]) for i in range(len(rows))]
        require(number(header, 10) == 0, "ragged columns have no filter")
        data = payload[at:]
    else:
        shape = tuple(numbers(header, 9))
        require(len(shape) == rank, "rank")
        shapes = [shape] * len(rows)
        data = unfilter(number(header, 10), payload[at:], len(rows), math.prod(shape) * size, size, shape)
    values, at = [], 0
    for each in shapes:
        values.append(data[at : at + math.prod(each) * size])
        at += math.prod(each) * size
    require(at == len(data), "the shapes add up to the values")
    return Column(raw(header, 1).decode(), kind, dtype, rank, rows, shapes, values)


def unfilter(name: int, data: bytes, n: int, row_bytes: int, s: int, shape: tuple[int, ...]) -> bytes:
    """The inverse of a filter."""
    if name in (7, 8):
        require(s == 1, "elements of one byte")
        return _predicted(_joined(data, n, row_bytes, shape) if name == 8 else data, n, row_bytes, shape)
    if name == 5:
        require(len(data) == row_bytes, "one row is stored")
        return data * n
    if name in (6, 9):
        data, name = (_dense if name == 6 else _spread)(data, n, row_bytes), 1
    require(len(data) == n * row_bytes, "rows are complete")
    if name in (2, 3, 4):
        m = len(data) // s
        data = b"".join(data[i::m] for i in range(m)) if m else data
    if name in (1, 3):
        values = bytearray(data)
        for i in range(row_bytes, len(values)):
            values[i] ^= values[i - row_bytes]
        return bytes(values)
    if name == 4:
        elements = [int.from_bytes(data[at : at + s], "little") for at in range(0, len(data), s)]
        for i in range(row_bytes // s, len(elements)):
            elements[i] = (elements[i] + elements[i - row_bytes // s]) % (1 << 8 * s)
        return b"".join(element.to_bytes(s, "little") for element in elements)
    require(name in (0, 2), "filter")
    return data


def _dense(data: bytes, n: int, row_bytes: int) -> bytes:
    """The differences that SPARSE_XOR leaves zeros out of."""
    w = (row_bytes + 7) // 8
    at, differ = n * w, bytearray(n * row_bytes)
    for i in range(n):
        for j in range(w * 8):
            if data[i * w + j // 8] >> j % 8 & 1:
                require(j < row_bytes, "unused bits are 0")
                differ[i * row_bytes + j] = data[at]
                at += 1
    require(at == len(data), "every byte is in the bitmap")
    return bytes(differ)


def _spread(data: bytes, n: int, row_bytes: int) -> bytes:
    """The differences, at the positions that XOR_RUNS lists."""
    require(len(data) >= 4 * n, "numbers of runs")
    runs = struct.unpack_from(f"<{n}I", data)
    pair, differ = 4 * n, bytearray(n * row_bytes)
    at = pair + 4 * sum(runs)
    require(at <= len(data), "places of runs")
    for i in range(n):
        j = 0
        for _ in range(runs[i]):
            gap, length = struct.unpack_from("<HH", data, pair)
            j, pair = j + gap, pair + 4
            require(
                j + length <= row_bytes and at + length <= len(data), "a run is in its row, and its bytes are there"
            )
            differ[i * row_bytes + j : i * row_bytes + j + length] = data[at : at + length]
            j, at = j + length, at + length
    require(at == len(data), "every byte is in a run")
    return bytes(differ)


SHIFTS = ((0, 0), (0, -1), (0, 1), (-1, 0), (1, 0), (-1, -1), (-1, 1), (1, -1), (1, 1))


def _line_bytes(shape: tuple[int, ...]) -> int:
    return shape[-1] * shape[-2] if len(shape) >= 3 and shape[-1] <= 16 else shape[-1] if shape else 1


def _joined(data: bytes, n: int, row_bytes: int, shape: tuple[int, ...]) -> bytes:
    """What PREDICT left, from the parts that PREDICT_SPLIT made of it."""
    t, modes = n * row_bytes, n * (row_bytes // _line_bytes(shape))
    m = (t + 7) // 8
    require(len(data) > modes and data[modes] <= 6, "bits of noise")
    k = data[modes]
    high = len(data) - (k + 2) * m
    at, i, where = modes + 1, 0, []
    while True:
        require(at < high, "the gaps end before the fields")
        gap, at = data[at], at + 1
        i += gap
        if gap == 255:
            continue
        if i >= t:
            break
        where.append(i)
        i += 1
    require(i == t and high - at == len(where), "the gaps end with the numbers; there is a value for each")
    values = dict(zip(where, data[at:high], strict=True))
    left = bytearray(data[:modes])
    for i in range(t):
        s, j = divmod(i, m)
        z, shift, at = 0, 0, high + 2 * m
        for w in (4, 2, 1):
            if k & w:
                z |= (data[at + s % w * m + j] >> s // w * w) % (1 << w) << shift
                shift, at = shift + w, at + w * m
        z |= (data[high + s % 2 * m + j] >> s // 2 * 2) % 4 << k
        if i in values:
            require(0 < values[i] < 1 << 6 - k, "value of an exception")
            z |= values[i] << k + 2
        left.append(-(z + 1) // 2 % 256 if z % 2 else z // 2)
    return bytes(left)


def _predicted(data: bytes, n: int, row_bytes: int, shape: tuple[int, ...]) -> bytes:
    """The rows that PREDICT left the differences of."""
    c = shape[-1] if len(shape) >= 3 and shape[-1] <= 16 else 1
    w = _line_bytes(shape)
    h = row_bytes // w
    require(len(data) == n * (h + row_bytes), "rows are complete")
    values = bytearray(data[n * h :])
    for i in range(n):
        for y in range(h):
            m = data[i * h + y]
            require(m <= 27, "mode of a line")
            for x in range(w):
                at = (i * h + y) * w + x
                above = values[at - w] if y else 0
                expected = above
                if m < 27:
                    dy, dx = SHIFTS[m % 9]
                    v, u = min(max(y + dy, 0), h - 1), x + dx * c if 0 <= x + dx * c < w else x
                    same = values[((i - 1) * h + v) * w + u] if i else 0
                    below = values[((i - 1) * h + min(v + 1, h - 1)) * w + u] if i else 0
                    expected = (same, (above + same + 1) // 2, ((above + below + 1) // 2 + same + 1) // 2)[m // 9]
                values[at] = (values[at] + expected) % 256
    return bytes(values)


# -- episodes (sections 3, 4, 8) ---------------------------------------------------------------------------------------


@dataclass
class Episode:
    """The content of the records of an episode."""

    episode_id: bytes
    start: Message = field(default_factory=dict)
    end: Message | None = None
    end_row: int = 0
    columns: list[Column] = field(default_factory=list)
    places: list[Any] = field(default_factory=lambda: [0, 0, []])

    def state(self) -> dict[str, Any]:
        """The episode as the truth states it."""
        end = self.end or {}
        rows: list[dict[str, Any]] = [{} for _ in range(number(end, 5) if self.end else self.end_row)]
        for one in self.columns:
            for row, value in one.items():
                place = rows[row]
                *parents, last = one.path.split("/")
                for element in parents:
                    place = place.setdefault(element, {})
                    require(isinstance(place, dict), f"{one.path} has a value above it")
                require(last not in place, f"{one.path} has two values in row {row}")
                place[last] = value
        return {
            "id": self.episode_id.hex(),
            "end": ENDS.get(number(end, 2), "INCOMPLETE"),
            "terminated": bool(number(end, 3)),
            "truncated": bool(number(end, 4)),
            "seed": tree(raw(self.start, 3)),
            "options": tree(raw(self.start, 4)),
            "metadata": self._metadata(),
            "rows": [{unescape(name): nest(value) for name, value in row.items()} for row in rows],
        }

    def _metadata(self) -> Value:
        pairs: list[Any] = []
        for metadata in (raw(self.start, 2), raw(self.end or {}, 6)):
            if metadata:
                new = tree(metadata)[1]
                pairs = [pair for pair in pairs if pair[0] not in [name for name, _ in new]] + new
        return ["dict", pairs]

    def digest(self) -> bytes:
        """The content digest, computed from the content."""
        leaves: dict[tuple[str, int, str, int], list[Any]] = {}
        for one in self.columns:
            if one.path != "time_ns" and one.path.partition("/")[0] != "trial_clock":
                fresh = [xxhash.xxh3_128(), xxhash.xxh3_128(), xxhash.xxh3_128()]
                rows, shapes, values = leaves.setdefault((one.path, one.kind, one.dtype, one.rank), fresh)
                rows.update(struct.pack(f"<{len(one.rows)}Q", *one.rows))
                for shape in one.shapes:
                    shapes.update(struct.pack(f"<{one.rank}Q", *shape))
                values.update(b"".join(one.values))
        total = xxhash.xxh3_128()
        for leaf in sorted(leaves):
            path, kind, dtype, rank = leaf
            total.update(framed(path.encode()) + struct.pack("<Q", kind) + framed(dtype.encode()))
            total.update(struct.pack("<Q", rank) + b"".join(part.digest() for part in leaves[leaf]))
        end = self.end or {}
        for part in (raw(self.start, 2), raw(self.start, 3), raw(self.start, 4), raw(end, 6)):
            total.update(framed(part))
        total.update(struct.pack("<Q", number(end, 5)) + bytes((number(end, 2), number(end, 3), number(end, 4))))
        return total.digest()


def framed(data: bytes) -> bytes:
    """Bytes after their size, in the form for a content digest."""
    return struct.pack("<Q", len(data)) + data


def unescape(element: str) -> str:
    """A key from an element of a path."""
    return element.removeprefix("~2").replace("~1", "/").replace("~0", "~")


def nest(place: Any) -> Value:
    """Dicts by element, put together again."""
    if not isinstance(place, dict):
        return list(place)
    first = next(iter(place))
    if re.fullmatch(r"\(\d+\)|\[\d+\]", first):
        ordered = sorted(place, key=lambda element: int(element[1:-1]))
        return ["tuple" if first[0] == "(" else "list", [nest(place[element]) for element in ordered]]
    return ["dict", [[["text", unescape(element)], nest(item)] for element, item in place.items()]]


class Shard:
    """Reads a shard from its beginning, and its index too if it has one."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        self.header: Message = {}
        self.index: Message = {}
        self.episodes: dict[bytes, Episode] = {}
        self.is_torn = False
        self._read()
        if self.index:
            self._check_tail()

    def _read(self) -> None:
        at = 0
        while at < len(self.data):
            found = chunk(self.data, at)
            if found is None:
                self.is_torn = True
                return
            chunk_type, records, end = found
            require((chunk_type == ord("s")) == (at == 0), "the file begins with its signature")
            if chunk_type == ord("r"):
                require(len(records) == 1, "a record is alone in its chunk")
                self._take(records[0], at)
                if self.index:
                    return
            at = end

    def _take(self, record: bytes, position: int) -> None:
        require(record[:2] == b"\x08\x01", "version 1")
        fields = message(record)
        ((kind, (content,)),) = [item for item in fields.items() if item[0] != 1]
        parts = message(content)
        require((kind == 2) == (not self.header), "the header comes first, and once")
        if kind == 2:
            self.header = parts
        elif kind == 3:
            require(raw(parts, 1) not in self.episodes, "an episode starts once")
            episode = self._episode(parts)
            episode.start, episode.places[0] = parts, position
        elif kind == 4:
            self._take_block(content, parts, position)
        elif kind == 5:
            episode = self._episode(parts)
            require(episode.end is None, "an episode ends once")
            episode.end, episode.places[1] = parts, position
        elif kind == 7:
            self.index = parts
            self._check_index(parts, position)

    def _episode(self, parts: Message) -> Episode:
        return self.episodes.setdefault(raw(parts, 1), Episode(raw(parts, 1)))

    def _take_block(self, content: bytes, parts: Message, position: int) -> None:
        header_bytes = raw(parts, 1)
        require(xxhash.xxh3_64_intdigest(header_bytes) == number(parts, 2), "hash of a block header")
        header = message(header_bytes)
        _, at = varint(content, 1)
        base = at + len(header_bytes) + 9
        episode = self._episode(header)
        require(episode.places[0], "blocks come after their start")
        first, end = number(header, 2), number(header, 3)
        require(first == episode.end_row, "blocks follow each other without a gap")
        episode.end_row = end
        episode.places[2].append((position, first, end))
        columns = [message(each) for each in header.get(4, [])]
        require(len(columns) == len(parts.get(3, [])), "one payload for each column")
        for each, payload in zip(columns, parts.get(3, []), strict=True):
            begin = base + number(each, 12)
            require(content[begin : begin + number(each, 13)] == payload, "offset of a payload")
            require(number(each, 4) + 1 >= first, "rows of a column")
            require(number(each, 4) + number(each, 5) <= end, "rows of a column")
            episode.columns.append(column(each, payload))

    def _check_index(self, index: Message, position: int) -> None:
        require(raw(index, 1) == raw(self.header, 1), "shard_id")
        require(message(raw(index, 4)) == self.header, "copy of the header")
        is_table = 6 in index
        listed = _table(message(raw(index, 6)), position) if is_table else _messages(index, position)
        require(listed.keys() == self.episodes.keys(), "episodes of the index")
        for key, (start, ended, blocks, copies) in listed.items():
            episode = self.episodes[key]
            end = episode.end or {}
            require((start, ended, blocks) == tuple(episode.places), "places in the index")
            require(copies == (number(end, 5), raw(end, 7), number(end, 2)), "copies in the index")

    def _check_tail(self) -> None:
        """Opens the shard from its end, as section 8 says."""
        require(len(self.data) % 65536 == 0 and len(self.data) >= 131072, "size of a closed shard")
        begin = len(self.data) - 65536
        postscript = chunk(self.data, begin)
        require(postscript is not None and len(postscript[1]) == 3, "postscript")
        copies = [message(copy) for copy in postscript[1]] if postscript else []
        require(all(copy == copies[0] for copy in copies) and number(copies[0], 2) == MAGIC, "postscript")
        footer = chunk(self.data, number(copies[0], 1))
        require(footer is not None, "footer")
        last = message(footer[1][-1]) if footer else {}
        found = chunk(self.data, number(last, 1))
        require(found is not None and message(found[1][0]).get(7), "the last record is the index")


Listed = dict[bytes, tuple[int, int, list[tuple[int, int, int]], tuple[int, bytes, int]]]


def _messages(index: Message, position: int) -> Listed:
    """The episodes of an index of an older file: start, end, blocks, and what is copied from the end."""
    require(number(index, 2) == position, "data_end")
    listed: Listed = {}
    for entry in map(message, index.get(3, [])):
        positions, so_far = [], 0
        for difference in numbers(entry, 5):
            so_far += difference
            positions.append(so_far)
        blocks = list(zip(positions, numbers(entry, 6), numbers(entry, 7), strict=True))
        copies = (number(entry, 4), raw(entry, 8), number(entry, 9))
        listed[raw(entry, 1)] = number(entry, 2), number(entry, 3), blocks, copies
    return listed


def _table(table: Message, position: int) -> Listed:
    """The episodes of an index that has columns."""
    require(number(table, 1) == position, "data_end")
    ids, digests = ([raw(table, key)[at : at + 16] for at in range(0, len(raw(table, key)), 16)] for key in (2, 7))
    starts, ends, rows, endings, counts = (_column(raw(table, key), len(ids)) for key in (3, 4, 5, 6, 8))
    blocks = list(zip(*(_column(raw(table, key), sum(counts)) for key in (9, 10, 11)), strict=True))
    listed: Listed = {}
    for key, start, end, row, ending, digest, count in zip(
        ids, starts, ends, rows, endings, digests, counts, strict=True
    ):
        listed[key] = start, end, blocks[:count], (row, digest if any(digest) else b"", ending)
        del blocks[:count]
    return listed


def _column(data: bytes, count: int) -> list[int]:
    """Numbers of equal width, little-endian."""
    width = len(data) // count if count else 0
    require(len(data) == width * count and (not count or width in (1, 2, 4, 8)), "width of a column")
    return [int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width)] if count else []


def episodes(directory: Path) -> Iterator[Episode]:
    """All episodes that a reader shows, in order. No process may be writing."""
    for path in sorted(directory.glob("episodes-*.riegeli")):
        for episode in Shard(path).episodes.values():
            if episode.end_row and number(episode.end or {}, 2) != DISCARDED:
                yield episode
