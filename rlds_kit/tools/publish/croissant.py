"""Croissant: a description of the dataset that catalogues and search engines read, as JSON-LD.

https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html
"""

import datetime as dt
import json
from collections.abc import Collection, Sequence
from typing import Any, Final

from rlds_kit import spec as specs
from rlds_kit.base.step import FLAGS
from rlds_kit.storage.directory import SHARD_PATTERN
from rlds_kit.tools.publish.destination import Item
from rlds_kit.tools.publish.facts import Facts
from rlds_kit.tools.publish.fields import Field
from rlds_kit.tools.publish.licence import licence_of

CONFORMS_TO: Final = "http://mlcommons.org/croissant/1.1"
RIEGELI: Final = "application/x-riegeli"
SHARDS: Final = "shards"

# The context that the specification gives, appendix 1.
CONTEXT: Final = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}

_TYPES: Final = {
    "bool": "sc:Boolean",
    **{f"{sign}int{bits}": f"cr:{'U' if sign else ''}Int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"cr:Float{bits}" for bits in (16, 32, 64)},
    "bfloat16": "sc:Float",
}


def croissant(facts: Facts, items: Sequence[Item], published: dt.date) -> str:
    """The content of `croissant.json`.

    Args:
      facts: of the dataset.
      items: files with its data: shards, `dataset.json`, layers.
      published: the day.
    """
    about, origins = facts.about, facts.origins
    content: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": about.name,
        "description": about.description or f"{facts.statistics.episodes:,} recorded episodes.",
        "license": licence_of(about.licence).url or about.licence,
        "citeAs": about.citation,
        "version": f"1.0.0+{facts.content_digest}",  # the part after the plus identifies the data (semver.org, item 10)
        "datePublished": published.isoformat(),
        "keywords": ["reinforcement learning", "episodes", "RLDS"],
        "distribution": [*(_file(item) for item in items), _shards()],
        "recordSet": [_steps(facts.fields, facts.lacking)],
    }
    if about.homepage:
        content["url"] = about.homepage
    if origins.first is not None:
        content["dateCreated"] = origins.first.date().isoformat()
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _file(item: Item) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": item.path,
        "name": item.path,
        "contentUrl": item.path,
        "contentSize": f"{item.size} B",
        "encodingFormat": "application/json" if item.path.endswith(".json") else RIEGELI,
        "sha256": item.sha256,
    }


def _shards() -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": SHARDS,
        "name": SHARDS,
        "description": "Riegeli files of episodes; rlds_kit reads them.",
        "encodingFormat": RIEGELI,
        "includes": SHARD_PATTERN,
    }


def _steps(fields: Sequence[Field], lacking: Collection[str]) -> dict[str, Any]:
    flags = [Field(flag, specs.Array((), "bool")) for flag in FLAGS]
    return {
        "@type": "cr:RecordSet",
        "@id": "steps",
        "name": "steps",
        "description": "A record is a step; a column is a leaf of the step's nest, by its path.",
        "field": [_field(each, is_lacking=each.path in lacking) for each in (*fields, *flags)],
    }


def _field(field: Field, *, is_lacking: bool) -> dict[str, Any]:
    described: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"steps/{field.path}",
        "name": field.path,
        "description": _description(field) + ("; not in every step" if is_lacking else ""),
        "dataType": _data_type(field.spec),
        "source": {"fileSet": {"@id": SHARDS}, "extract": {"column": field.path}},
    }
    if isinstance(field.spec, specs.Array) and field.spec.shape:
        shape = ",".join("-1" if length is None else str(length) for length in field.spec.shape)
        described |= {"isArray": True, "arrayShape": shape}
    return described


def _description(field: Field) -> str:
    shape = f" {field.shape}" if field.shape not in ("", "()") else ""
    bounds = f" in {field.bounds}" if field.bounds else ""
    return f"{field.dtype}{shape}{bounds}"


def _data_type(spec: specs.Spec) -> str:
    """The Croissant type of a field; text if Croissant defines none."""
    return _TYPES.get(spec.dtype.name, "sc:Text") if isinstance(spec, specs.Array) else "sc:Text"
