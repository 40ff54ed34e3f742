"""The JSON Schema of a configuration file, made from the models that check it: for editors, and for Helm's values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protos.configuration.sections import API_VERSION, KIND, Document, defaults

DRAFT = "http://json-schema.org/draft-07/schema#"
"""What Helm and editors understand."""


def schema_of(kind: type[Document]) -> dict[str, Any]:
    """Return the schema of a document, with the default of each section.

    Sections that do not belong to ``kind`` may have any content.
    """
    found = kind.model_json_schema(by_alias=True, mode="validation")
    properties = {name: _plain(each) for name, each in found["properties"].items()}
    stated = defaults()
    properties |= {"apiVersion": {"const": API_VERSION}, "kind": {"const": KIND}}
    return {
        "$schema": DRAFT,
        "title": KIND,
        "type": "object",
        "additionalProperties": False,
        "required": ["apiVersion", "kind"],
        "properties": {
            name: {
                **properties.get(name, {}),
                **({} if name in ("apiVersion", "kind") else {"default": default}),
            }
            for name, default in stated.items()
        },
        "definitions": {name: _plain(each) for name, each in sorted(found.get("$defs", {}).items())},
    }


def _plain(value: Any) -> Any:
    """Return a part of pydantic's schema without titles, and with references to definitions as in draft 7."""
    if isinstance(value, Mapping):
        return {
            key: each.replace("#/$defs/", "#/definitions/")
            if key == "$ref"
            else {name: _plain(part) for name, part in each.items()}
            if key == "properties"
            else " ".join(each.replace("``", "`").split())
            if key == "description"
            else _plain(each)
            for key, each in value.items()
            if not (key == "title" and isinstance(each, str))
        }
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
