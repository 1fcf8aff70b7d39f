from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ARRAY: _ClassVar[Kind]
    SCALAR: _ClassVar[Kind]
    BOOL: _ClassVar[Kind]
    INT: _ClassVar[Kind]
    BIG_INT: _ClassVar[Kind]
    FLOAT: _ClassVar[Kind]
    COMPLEX: _ClassVar[Kind]
    TEXT: _ClassVar[Kind]
    BYTES: _ClassVar[Kind]
    NONE: _ClassVar[Kind]
    TREE: _ClassVar[Kind]
    NUMPY_TEXT: _ClassVar[Kind]
    NUMPY_BYTES: _ClassVar[Kind]

class Filter(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IDENTITY: _ClassVar[Filter]
    XOR: _ClassVar[Filter]
    SHUFFLE: _ClassVar[Filter]
    XOR_SHUFFLE: _ClassVar[Filter]
    DELTA_SHUFFLE: _ClassVar[Filter]
    REPEAT: _ClassVar[Filter]
    SPARSE_XOR: _ClassVar[Filter]
    PREDICT: _ClassVar[Filter]
    PREDICT_SPLIT: _ClassVar[Filter]
    XOR_RUNS: _ClassVar[Filter]

class Codec(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STORED: _ClassVar[Codec]
    ZSTD: _ClassVar[Codec]

class Ending(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNKNOWN: _ClassVar[Ending]
    TERMINATED: _ClassVar[Ending]
    TRUNCATED: _ClassVar[Ending]
    INTERRUPTED: _ClassVar[Ending]
    DISCARDED: _ClassVar[Ending]
ARRAY: Kind
SCALAR: Kind
BOOL: Kind
INT: Kind
BIG_INT: Kind
FLOAT: Kind
COMPLEX: Kind
TEXT: Kind
BYTES: Kind
NONE: Kind
TREE: Kind
NUMPY_TEXT: Kind
NUMPY_BYTES: Kind
IDENTITY: Filter
XOR: Filter
SHUFFLE: Filter
XOR_SHUFFLE: Filter
DELTA_SHUFFLE: Filter
REPEAT: Filter
SPARSE_XOR: Filter
PREDICT: Filter
PREDICT_SPLIT: Filter
XOR_RUNS: Filter
STORED: Codec
ZSTD: Codec
UNKNOWN: Ending
TERMINATED: Ending
TRUNCATED: Ending
INTERRUPTED: Ending
DISCARDED: Ending

class Record(_message.Message):
    __slots__ = ("version", "shard", "start", "block", "end", "amendment", "index")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    AMENDMENT_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    version: int
    shard: ShardHeader
    start: EpisodeStart
    block: StepBlock
    end: EpisodeEnd
    amendment: SpecAmendment
    index: ShardIndex
    def __init__(self, version: _Optional[int] = ..., shard: _Optional[_Union[ShardHeader, _Mapping]] = ..., start: _Optional[_Union[EpisodeStart, _Mapping]] = ..., block: _Optional[_Union[StepBlock, _Mapping]] = ..., end: _Optional[_Union[EpisodeEnd, _Mapping]] = ..., amendment: _Optional[_Union[SpecAmendment, _Mapping]] = ..., index: _Optional[_Union[ShardIndex, _Mapping]] = ...) -> None: ...

class ShardHeader(_message.Message):
    __slots__ = ("shard_id", "writer", "created_unix_ns", "spec", "minor_version", "metadata", "environment")
    SHARD_ID_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    CREATED_UNIX_NS_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    MINOR_VERSION_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    shard_id: bytes
    writer: str
    created_unix_ns: int
    spec: Spec
    minor_version: int
    metadata: Value
    environment: Value
    def __init__(self, shard_id: _Optional[bytes] = ..., writer: _Optional[str] = ..., created_unix_ns: _Optional[int] = ..., spec: _Optional[_Union[Spec, _Mapping]] = ..., minor_version: _Optional[int] = ..., metadata: _Optional[_Union[Value, _Mapping]] = ..., environment: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...

class EpisodeStart(_message.Message):
    __slots__ = ("episode_id", "metadata", "seed", "options", "provenance", "started_unix_ns")
    EPISODE_ID_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    STARTED_UNIX_NS_FIELD_NUMBER: _ClassVar[int]
    episode_id: bytes
    metadata: Value
    seed: Value
    options: Value
    provenance: Value
    started_unix_ns: int
    def __init__(self, episode_id: _Optional[bytes] = ..., metadata: _Optional[_Union[Value, _Mapping]] = ..., seed: _Optional[_Union[Value, _Mapping]] = ..., options: _Optional[_Union[Value, _Mapping]] = ..., provenance: _Optional[_Union[Value, _Mapping]] = ..., started_unix_ns: _Optional[int] = ...) -> None: ...

class StepBlock(_message.Message):
    __slots__ = ("header", "header_xxh3", "payload")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    HEADER_XXH3_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    header: bytes
    header_xxh3: int
    payload: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, header: _Optional[bytes] = ..., header_xxh3: _Optional[int] = ..., payload: _Optional[_Iterable[bytes]] = ...) -> None: ...

class BlockHeader(_message.Message):
    __slots__ = ("episode_id", "first_row", "end_row", "columns")
    EPISODE_ID_FIELD_NUMBER: _ClassVar[int]
    FIRST_ROW_FIELD_NUMBER: _ClassVar[int]
    END_ROW_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    episode_id: bytes
    first_row: int
    end_row: int
    columns: _containers.RepeatedCompositeFieldContainer[Column]
    def __init__(self, episode_id: _Optional[bytes] = ..., first_row: _Optional[int] = ..., end_row: _Optional[int] = ..., columns: _Optional[_Iterable[_Union[Column, _Mapping]]] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ("path", "kind", "dtype", "first_row", "count", "partial", "rank", "ragged", "shape", "filter", "codec", "offset", "length", "decoded_length", "xxh3")
    PATH_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    FIRST_ROW_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    RAGGED_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    CODEC_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    DECODED_LENGTH_FIELD_NUMBER: _ClassVar[int]
    XXH3_FIELD_NUMBER: _ClassVar[int]
    path: str
    kind: Kind
    dtype: str
    first_row: int
    count: int
    partial: bool
    rank: int
    ragged: bool
    shape: _containers.RepeatedScalarFieldContainer[int]
    filter: Filter
    codec: Codec
    offset: int
    length: int
    decoded_length: int
    xxh3: int
    def __init__(self, path: _Optional[str] = ..., kind: _Optional[_Union[Kind, str]] = ..., dtype: _Optional[str] = ..., first_row: _Optional[int] = ..., count: _Optional[int] = ..., partial: bool = ..., rank: _Optional[int] = ..., ragged: bool = ..., shape: _Optional[_Iterable[int]] = ..., filter: _Optional[_Union[Filter, str]] = ..., codec: _Optional[_Union[Codec, str]] = ..., offset: _Optional[int] = ..., length: _Optional[int] = ..., decoded_length: _Optional[int] = ..., xxh3: _Optional[int] = ...) -> None: ...

class SpecAmendment(_message.Message):
    __slots__ = ("spec",)
    SPEC_FIELD_NUMBER: _ClassVar[int]
    spec: Spec
    def __init__(self, spec: _Optional[_Union[Spec, _Mapping]] = ...) -> None: ...

class EpisodeEnd(_message.Message):
    __slots__ = ("episode_id", "ending", "terminated", "truncated", "rows", "metadata", "content_digest")
    EPISODE_ID_FIELD_NUMBER: _ClassVar[int]
    ENDING_FIELD_NUMBER: _ClassVar[int]
    TERMINATED_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CONTENT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    episode_id: bytes
    ending: Ending
    terminated: bool
    truncated: bool
    rows: int
    metadata: Value
    content_digest: bytes
    def __init__(self, episode_id: _Optional[bytes] = ..., ending: _Optional[_Union[Ending, str]] = ..., terminated: bool = ..., truncated: bool = ..., rows: _Optional[int] = ..., metadata: _Optional[_Union[Value, _Mapping]] = ..., content_digest: _Optional[bytes] = ...) -> None: ...

class ShardIndex(_message.Message):
    __slots__ = ("shard_id", "data_end", "episodes", "header", "amendments", "table", "episode_metadata")
    SHARD_ID_FIELD_NUMBER: _ClassVar[int]
    DATA_END_FIELD_NUMBER: _ClassVar[int]
    EPISODES_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    AMENDMENTS_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    EPISODE_METADATA_FIELD_NUMBER: _ClassVar[int]
    shard_id: bytes
    data_end: int
    episodes: _containers.RepeatedCompositeFieldContainer[EpisodeIndex]
    header: ShardHeader
    amendments: _containers.RepeatedCompositeFieldContainer[Spec]
    table: EpisodeTable
    episode_metadata: Spec
    def __init__(self, shard_id: _Optional[bytes] = ..., data_end: _Optional[int] = ..., episodes: _Optional[_Iterable[_Union[EpisodeIndex, _Mapping]]] = ..., header: _Optional[_Union[ShardHeader, _Mapping]] = ..., amendments: _Optional[_Iterable[_Union[Spec, _Mapping]]] = ..., table: _Optional[_Union[EpisodeTable, _Mapping]] = ..., episode_metadata: _Optional[_Union[Spec, _Mapping]] = ...) -> None: ...

class EpisodeTable(_message.Message):
    __slots__ = ("data_end", "episode_id", "start", "end", "rows", "ending", "content_digest", "blocks", "block", "first_row", "end_row")
    DATA_END_FIELD_NUMBER: _ClassVar[int]
    EPISODE_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    ENDING_FIELD_NUMBER: _ClassVar[int]
    CONTENT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    FIRST_ROW_FIELD_NUMBER: _ClassVar[int]
    END_ROW_FIELD_NUMBER: _ClassVar[int]
    data_end: int
    episode_id: bytes
    start: bytes
    end: bytes
    rows: bytes
    ending: bytes
    content_digest: bytes
    blocks: bytes
    block: bytes
    first_row: bytes
    end_row: bytes
    def __init__(self, data_end: _Optional[int] = ..., episode_id: _Optional[bytes] = ..., start: _Optional[bytes] = ..., end: _Optional[bytes] = ..., rows: _Optional[bytes] = ..., ending: _Optional[bytes] = ..., content_digest: _Optional[bytes] = ..., blocks: _Optional[bytes] = ..., block: _Optional[bytes] = ..., first_row: _Optional[bytes] = ..., end_row: _Optional[bytes] = ...) -> None: ...

class EpisodeIndex(_message.Message):
    __slots__ = ("episode_id", "start", "end", "rows", "block", "first_row", "end_row", "content_digest", "ending")
    EPISODE_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    FIRST_ROW_FIELD_NUMBER: _ClassVar[int]
    END_ROW_FIELD_NUMBER: _ClassVar[int]
    CONTENT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    ENDING_FIELD_NUMBER: _ClassVar[int]
    episode_id: bytes
    start: int
    end: int
    rows: int
    block: _containers.RepeatedScalarFieldContainer[int]
    first_row: _containers.RepeatedScalarFieldContainer[int]
    end_row: _containers.RepeatedScalarFieldContainer[int]
    content_digest: bytes
    ending: Ending
    def __init__(self, episode_id: _Optional[bytes] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., rows: _Optional[int] = ..., block: _Optional[_Iterable[int]] = ..., first_row: _Optional[_Iterable[int]] = ..., end_row: _Optional[_Iterable[int]] = ..., content_digest: _Optional[bytes] = ..., ending: _Optional[_Union[Ending, str]] = ...) -> None: ...

class Value(_message.Message):
    __slots__ = ("none", "boolean", "integer", "big_integer", "floating", "complex", "text", "raw", "array", "scalar", "list", "tuple", "dict")
    NONE_FIELD_NUMBER: _ClassVar[int]
    BOOLEAN_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    BIG_INTEGER_FIELD_NUMBER: _ClassVar[int]
    FLOATING_FIELD_NUMBER: _ClassVar[int]
    COMPLEX_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    RAW_FIELD_NUMBER: _ClassVar[int]
    ARRAY_FIELD_NUMBER: _ClassVar[int]
    SCALAR_FIELD_NUMBER: _ClassVar[int]
    LIST_FIELD_NUMBER: _ClassVar[int]
    TUPLE_FIELD_NUMBER: _ClassVar[int]
    DICT_FIELD_NUMBER: _ClassVar[int]
    none: bool
    boolean: bool
    integer: int
    big_integer: bytes
    floating: float
    complex: Complex
    text: bytes
    raw: bytes
    array: Array
    scalar: Array
    list: Items
    tuple: Items
    dict: Entries
    def __init__(self, none: bool = ..., boolean: bool = ..., integer: _Optional[int] = ..., big_integer: _Optional[bytes] = ..., floating: _Optional[float] = ..., complex: _Optional[_Union[Complex, _Mapping]] = ..., text: _Optional[bytes] = ..., raw: _Optional[bytes] = ..., array: _Optional[_Union[Array, _Mapping]] = ..., scalar: _Optional[_Union[Array, _Mapping]] = ..., list: _Optional[_Union[Items, _Mapping]] = ..., tuple: _Optional[_Union[Items, _Mapping]] = ..., dict: _Optional[_Union[Entries, _Mapping]] = ...) -> None: ...

class Complex(_message.Message):
    __slots__ = ("real", "imaginary")
    REAL_FIELD_NUMBER: _ClassVar[int]
    IMAGINARY_FIELD_NUMBER: _ClassVar[int]
    real: float
    imaginary: float
    def __init__(self, real: _Optional[float] = ..., imaginary: _Optional[float] = ...) -> None: ...

class Array(_message.Message):
    __slots__ = ("dtype", "shape", "data")
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    dtype: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    data: bytes
    def __init__(self, dtype: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., data: _Optional[bytes] = ...) -> None: ...

class Items(_message.Message):
    __slots__ = ("item",)
    ITEM_FIELD_NUMBER: _ClassVar[int]
    item: _containers.RepeatedCompositeFieldContainer[Value]
    def __init__(self, item: _Optional[_Iterable[_Union[Value, _Mapping]]] = ...) -> None: ...

class Entries(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: _containers.RepeatedCompositeFieldContainer[Value]
    value: _containers.RepeatedCompositeFieldContainer[Value]
    def __init__(self, key: _Optional[_Iterable[_Union[Value, _Mapping]]] = ..., value: _Optional[_Iterable[_Union[Value, _Mapping]]] = ...) -> None: ...

class Spec(_message.Message):
    __slots__ = ("array", "text", "bytes", "dict", "tuple", "sequence", "optional", "one_of", "graph", "any", "list")
    ARRAY_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    DICT_FIELD_NUMBER: _ClassVar[int]
    TUPLE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    OPTIONAL_FIELD_NUMBER: _ClassVar[int]
    ONE_OF_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    ANY_FIELD_NUMBER: _ClassVar[int]
    LIST_FIELD_NUMBER: _ClassVar[int]
    array: ArraySpec
    text: TextSpec
    bytes: BytesSpec
    dict: DictSpec
    tuple: TupleSpec
    sequence: SequenceSpec
    optional: OptionalSpec
    one_of: OneOfSpec
    graph: GraphSpec
    any: AnySpec
    list: ListSpec
    def __init__(self, array: _Optional[_Union[ArraySpec, _Mapping]] = ..., text: _Optional[_Union[TextSpec, _Mapping]] = ..., bytes: _Optional[_Union[BytesSpec, _Mapping]] = ..., dict: _Optional[_Union[DictSpec, _Mapping]] = ..., tuple: _Optional[_Union[TupleSpec, _Mapping]] = ..., sequence: _Optional[_Union[SequenceSpec, _Mapping]] = ..., optional: _Optional[_Union[OptionalSpec, _Mapping]] = ..., one_of: _Optional[_Union[OneOfSpec, _Mapping]] = ..., graph: _Optional[_Union[GraphSpec, _Mapping]] = ..., any: _Optional[_Union[AnySpec, _Mapping]] = ..., list: _Optional[_Union[ListSpec, _Mapping]] = ...) -> None: ...

class ArraySpec(_message.Message):
    __slots__ = ("dtype", "shape", "name", "minimum", "maximum", "num_values")
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    NUM_VALUES_FIELD_NUMBER: _ClassVar[int]
    dtype: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    name: str
    minimum: Value
    maximum: Value
    num_values: int
    def __init__(self, dtype: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., name: _Optional[str] = ..., minimum: _Optional[_Union[Value, _Mapping]] = ..., maximum: _Optional[_Union[Value, _Mapping]] = ..., num_values: _Optional[int] = ...) -> None: ...

class TextSpec(_message.Message):
    __slots__ = ("name", "min_length", "max_length", "charset")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MIN_LENGTH_FIELD_NUMBER: _ClassVar[int]
    MAX_LENGTH_FIELD_NUMBER: _ClassVar[int]
    CHARSET_FIELD_NUMBER: _ClassVar[int]
    name: str
    min_length: int
    max_length: int
    charset: str
    def __init__(self, name: _Optional[str] = ..., min_length: _Optional[int] = ..., max_length: _Optional[int] = ..., charset: _Optional[str] = ...) -> None: ...

class BytesSpec(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class DictSpec(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: _containers.RepeatedScalarFieldContainer[str]
    value: _containers.RepeatedCompositeFieldContainer[Spec]
    def __init__(self, key: _Optional[_Iterable[str]] = ..., value: _Optional[_Iterable[_Union[Spec, _Mapping]]] = ...) -> None: ...

class TupleSpec(_message.Message):
    __slots__ = ("item",)
    ITEM_FIELD_NUMBER: _ClassVar[int]
    item: _containers.RepeatedCompositeFieldContainer[Spec]
    def __init__(self, item: _Optional[_Iterable[_Union[Spec, _Mapping]]] = ...) -> None: ...

class ListSpec(_message.Message):
    __slots__ = ("item",)
    ITEM_FIELD_NUMBER: _ClassVar[int]
    item: _containers.RepeatedCompositeFieldContainer[Spec]
    def __init__(self, item: _Optional[_Iterable[_Union[Spec, _Mapping]]] = ...) -> None: ...

class SequenceSpec(_message.Message):
    __slots__ = ("element", "stacked")
    ELEMENT_FIELD_NUMBER: _ClassVar[int]
    STACKED_FIELD_NUMBER: _ClassVar[int]
    element: Spec
    stacked: bool
    def __init__(self, element: _Optional[_Union[Spec, _Mapping]] = ..., stacked: bool = ...) -> None: ...

class OptionalSpec(_message.Message):
    __slots__ = ("spec",)
    SPEC_FIELD_NUMBER: _ClassVar[int]
    spec: Spec
    def __init__(self, spec: _Optional[_Union[Spec, _Mapping]] = ...) -> None: ...

class OneOfSpec(_message.Message):
    __slots__ = ("alternative",)
    ALTERNATIVE_FIELD_NUMBER: _ClassVar[int]
    alternative: _containers.RepeatedCompositeFieldContainer[Spec]
    def __init__(self, alternative: _Optional[_Iterable[_Union[Spec, _Mapping]]] = ...) -> None: ...

class GraphSpec(_message.Message):
    __slots__ = ("node", "edge")
    NODE_FIELD_NUMBER: _ClassVar[int]
    EDGE_FIELD_NUMBER: _ClassVar[int]
    node: Spec
    edge: Spec
    def __init__(self, node: _Optional[_Union[Spec, _Mapping]] = ..., edge: _Optional[_Union[Spec, _Mapping]] = ...) -> None: ...

class AnySpec(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...
