from rlds_kit.base import rlds_kit_pb2 as _rlds_kit_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AnnotationKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANNOTATION_UNKNOWN: _ClassVar[AnnotationKind]
    TAG: _ClassVar[AnnotationKind]
    NOTE: _ClassVar[AnnotationKind]
    RETURN: _ClassVar[AnnotationKind]
    FIELD: _ClassVar[AnnotationKind]
    RETRACTION: _ClassVar[AnnotationKind]
ANNOTATION_UNKNOWN: AnnotationKind
TAG: AnnotationKind
NOTE: AnnotationKind
RETURN: AnnotationKind
FIELD: AnnotationKind
RETRACTION: AnnotationKind

class LayerRecord(_message.Message):
    __slots__ = ("version", "header", "annotations")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    version: int
    header: LayerHeader
    annotations: Annotations
    def __init__(self, version: _Optional[int] = ..., header: _Optional[_Union[LayerHeader, _Mapping]] = ..., annotations: _Optional[_Union[Annotations, _Mapping]] = ...) -> None: ...

class LayerHeader(_message.Message):
    __slots__ = ("writer_id", "writer", "created_unix_ns", "minor_version")
    WRITER_ID_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    CREATED_UNIX_NS_FIELD_NUMBER: _ClassVar[int]
    MINOR_VERSION_FIELD_NUMBER: _ClassVar[int]
    writer_id: bytes
    writer: str
    created_unix_ns: int
    minor_version: int
    def __init__(self, writer_id: _Optional[bytes] = ..., writer: _Optional[str] = ..., created_unix_ns: _Optional[int] = ..., minor_version: _Optional[int] = ...) -> None: ...

class Annotations(_message.Message):
    __slots__ = ("episode", "source", "annotation")
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    ANNOTATION_FIELD_NUMBER: _ClassVar[int]
    episode: _containers.RepeatedCompositeFieldContainer[AnnotatedEpisode]
    source: _containers.RepeatedScalarFieldContainer[str]
    annotation: _containers.RepeatedCompositeFieldContainer[Annotation]
    def __init__(self, episode: _Optional[_Iterable[_Union[AnnotatedEpisode, _Mapping]]] = ..., source: _Optional[_Iterable[str]] = ..., annotation: _Optional[_Iterable[_Union[Annotation, _Mapping]]] = ...) -> None: ...

class AnnotatedEpisode(_message.Message):
    __slots__ = ("episode_id", "content_digest")
    EPISODE_ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    episode_id: bytes
    content_digest: bytes
    def __init__(self, episode_id: _Optional[bytes] = ..., content_digest: _Optional[bytes] = ...) -> None: ...

class Annotation(_message.Message):
    __slots__ = ("annotation_id", "episode", "source", "kind", "field", "first_step", "end_step", "stacked", "value", "confidence", "user_data", "time_unix_ns", "retracts")
    ANNOTATION_ID_FIELD_NUMBER: _ClassVar[int]
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    END_STEP_FIELD_NUMBER: _ClassVar[int]
    STACKED_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    USER_DATA_FIELD_NUMBER: _ClassVar[int]
    TIME_UNIX_NS_FIELD_NUMBER: _ClassVar[int]
    RETRACTS_FIELD_NUMBER: _ClassVar[int]
    annotation_id: bytes
    episode: int
    source: int
    kind: AnnotationKind
    field: str
    first_step: int
    end_step: int
    stacked: bool
    value: _rlds_kit_pb2.Value
    confidence: float
    user_data: _rlds_kit_pb2.Value
    time_unix_ns: int
    retracts: bytes
    def __init__(self, annotation_id: _Optional[bytes] = ..., episode: _Optional[int] = ..., source: _Optional[int] = ..., kind: _Optional[_Union[AnnotationKind, str]] = ..., field: _Optional[str] = ..., first_step: _Optional[int] = ..., end_step: _Optional[int] = ..., stacked: bool = ..., value: _Optional[_Union[_rlds_kit_pb2.Value, _Mapping]] = ..., confidence: _Optional[float] = ..., user_data: _Optional[_Union[_rlds_kit_pb2.Value, _Mapping]] = ..., time_unix_ns: _Optional[int] = ..., retracts: _Optional[bytes] = ...) -> None: ...
