"""The OpenAPI 3.1 document of a service."""

import re
from collections.abc import Iterable
from typing import Any

from rlds_kit import __version__
from rlds_kit.trials.service.operations import Operation
from rlds_kit.trials.wire.reading import FROM_PROGRAM, TO_PROGRAM, schemas
from rlds_kit.trials.wire.requests import Problem

PROBLEMS = {
    "400": "The request is not valid.",
    "401": "There is no valid token.",
    "403": "The role of the token may not do this.",
    "404": "There is no such trial.",
    "409": "It cannot be done now.",
    "429": "Too many requests; Retry-After says when to come back.",
}


def document(operations: Iterable[Operation]) -> dict[str, Any]:
    """The document, with schemas of all messages, also of those of the WebSocket."""
    operations = tuple(operations)
    kinds = [kind for each in operations for kind in (each.body, each.answer) if kind is not None]
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rlds_kit: trials",
            "version": __version__,
            "description": "WebSocket /v1/seat takes a seat: send Join, get Joined, then answer each Observe with Act.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas([*kinds, Problem, *FROM_PROGRAM, *TO_PROGRAM]),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [
            *(_parameter(name, "path") for name in re.findall(r"{(\w+)}", operation.path)),
            *(_parameter(name, "query", text) for name, text in operation.query.items()),
        ],
        "responses": {
            str(operation.status): _content("As the summary says.", operation.answer, operation.media_type),
            **{status: _content(text, Problem) for status, text in PROBLEMS.items()},
        },
    }
    if operation.role is not None:
        described["security"] = [{"token": []}]
        described["description"] = f"For tokens with the role {operation.role.value}, or more."
    if operation.body is not None:
        described["requestBody"] = {"required": True, **_content("", operation.body)}
        del described["requestBody"]["description"]
    return described


def _parameter(name: str, place: str, text: str = "") -> dict[str, Any]:
    string = {"type": "string"}
    if place == "path":
        return {"name": name, "in": place, "required": True, "schema": string}
    return {"name": name, "in": place, "description": text, "schema": {"type": "array", "items": string}}


def _content(text: str, kind: type[Any] | None, media_type: str = "application/json") -> dict[str, Any]:
    schema = {"type": "string"} if kind is None else {"$ref": f"#/components/schemas/{kind.__name__}"}
    return {"description": text, "content": {media_type: {"schema": schema}}}
