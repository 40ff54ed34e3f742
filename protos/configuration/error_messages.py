"""Writes messages about errors in the configuration file, such as unknown keys: field, what is wrong, what to write."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, get_args

from pydantic import BaseModel

from protos.configuration.sections import Document, defaults
from protos.conventions.secrets import redact_urls

_WANTED = MappingProxyType(
    {
        "bool_parsing": "must be true or false",
        "bool_type": "must be true or false",
        "dict_type": "must be a map",
        "float_parsing": "must be a number",
        "float_type": "must be a number",
        "int_from_float": "must be a whole number",
        "int_type": "must be a whole number",
        "invalid_key": "keys must be texts",
        "model_type": "must be a map",
        "string_too_short": "must not be empty",
        "string_type": "must be a text",
        "too_short": "must not be empty",
        "tuple_type": "must be a list",
    }
)
"""Texts by type of error, where pydantic's text would name Python's types."""
_EMPTY = frozenset({"string_too_short", "too_short"})


def explain_error(detail: Mapping[str, Any], document: type[BaseModel]) -> str:
    """Return one of pydantic's errors about a document as a line ``field: what is wrong; what to do``."""
    path, kind, given = detail["loc"], str(detail["type"]), detail.get("input")
    if path and path[-1] == "[key]":  # a map with arbitrary keys
        path, kind = path[:-2], "invalid_key"
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    field = field or "the document"
    if kind == "extra_forbidden":
        return f"{field}: is not a known key; {_suggest_key(str(path[-1]), _list_keys(document, path[:-1]))}"
    if kind == "missing":
        return f"{field}: is missing; add it"
    if kind == "literal_error":
        return f"{field}: must be {detail['ctx']['expected']}, not {_format_value(given)}"
    if kind == "value_error":
        return f"{field}: {str(detail['msg']).removeprefix('Value error, ')}"  # our own, complete
    wanted = _WANTED.get(kind) or str(detail["msg"]).replace("Input should", "must")
    return f"{field}: {wanted}" if kind in _EMPTY else f"{field}: {wanted}, not {_format_value(given)}"


def _format_value(given: object) -> str:
    """Return a value as in YAML; for a map or list only its type."""
    if given is None or isinstance(given, bool):
        return {None: "null", True: "true", False: "false"}[given]
    if isinstance(given, Mapping):
        return "a map"
    return "a list" if isinstance(given, (list, tuple)) else repr(redact_urls(given))


def _suggest_key(key: str, known: Sequence[str]) -> str:
    """Return what to do about an unknown key: "did you mean …?", with the known key that is spelled most like it."""
    by_letters = {each.replace("_", "").lower(): each for each in known}
    close = difflib.get_close_matches(key.replace("_", "").lower(), by_letters, n=1)
    return f"did you mean {by_letters[close[0]]}?" if close else "remove it or correct its spelling"


def _list_keys(document: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    """Return the keys of the section at a path; at the top of a program's part, the keys of the whole document."""
    if not path and issubclass(document, Document):
        return list(defaults())
    section: type[BaseModel] | None = document
    for part in path:
        if isinstance(part, str) and section is not None:
            annotation = _keys(section).get(part)
            section = next(_sections(annotation), None)
    return [] if section is None else list(_keys(section))


def _keys(section: type[BaseModel]) -> dict[str, object]:
    """Return the types of a section's fields, by key in YAML."""
    return {field.alias or name: field.annotation for name, field in section.model_fields.items()}


def _sections(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the sections in a type annotation: the type itself, or types inside lists and unions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _sections(inner)
