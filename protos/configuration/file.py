"""Reads the file of a configuration: one YAML document, checked completely before anything runs.

Unknown keys are errors, and all faults of a file are collected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from protos.configuration.error_messages import explain_error
from protos.configuration.sections import API_VERSION, KIND, Document, defaults
from protos.configuration.yaml_size import CountedDocuments
from protos.conventions.secrets import redact_credentials

Part = TypeVar("Part", bound=Document)

_LONGEST = 500
"""Characters of a line."""


class ConfigurationError(ValueError):
    """A configuration cannot be used. ``lines``: one per fault, with file, field, fault and remedy.

    The lines are made printable, without credentials, and shortened if very long.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(_one_line(each) for each in lines)
        super().__init__("\n".join(self.lines))


def load_part(
    path: Path | None, kind: type[Part], further_faults: Callable[[Mapping[str, Any]], Iterable[str]]
) -> Part:
    """Read and check one part of a configuration file; None gives the defaults. Raises ``ConfigurationError``.

    ``further_faults`` yields what the model of the part does not find; nothing is sure of the document that it gets.
    """
    return kind() if path is None else check_part(read_document(path), str(path), kind, further_faults)


def check_part(
    document: Mapping[str, Any],
    where: str,
    kind: type[Part],
    further_faults: Callable[[Mapping[str, Any]], Iterable[str]],
) -> Part:
    """Check one part of a configuration that has been read, as ``load_part`` does; ``where``: its name in errors."""
    order = {key: place for place, key in enumerate(defaults())}
    faults: list[str] = []
    part: Part | None = None
    try:
        part = kind.part_of(document)
    except ValidationError as error:
        found = sorted(
            error.errors(), key=lambda each: order.get("".join(map(str, each["loc"][:1])), len(order))
        )
        faults += (explain_error(each, kind) for each in found)
    header = (("apiVersion", API_VERSION), ("kind", KIND))
    faults += (f"{key}: is missing; write {key}: {value}" for key, value in header if key not in document)
    faults += further_faults(document)
    if faults or part is None:
        raise ConfigurationError(f"{where}: {fault}" for fault in faults)
    return part


def _one_line(text: str) -> str:
    text = "".join(each if each.isprintable() else repr(each)[1:-1] for each in redact_credentials(text))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


class _Loader(CountedDocuments, yaml.SafeLoader):
    """A safe loader that refuses repeated keys, of which plain YAML would silently use the last.

    It also refuses documents that aliases make too large, before these are constructed.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {name!r} is given twice; remove one", key.start_mark
                )
            seen.add(name)
        return super().construct_mapping(node, deep)


def read_document(path: Path, kind: str = KIND) -> dict[str, Any]:
    """Return the only document of a file, a mapping of this ``kind``. Raises ``ConfigurationError``."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            [f"{path}: cannot be read: {error.strerror}; name a readable file"]
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError([f"{path}: is not UTF-8 text; save it as UTF-8 YAML"]) from error
    try:
        documents = [each for each in yaml.load_all(text, Loader=_Loader) if each is not None]
    except yaml.YAMLError as error:
        raise ConfigurationError([f"{path}{_yaml_fault(error)}"]) from error
    except RecursionError:
        raise ConfigurationError([f"{path}: is nested too deep; a configuration is a few levels"]) from None
    except (ValueError, TypeError, AttributeError) as error:  # of values that YAML allows and Python does not
        raise ConfigurationError([f"{path}: holds a value that cannot be read: {error}"]) from error
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise ConfigurationError([f"{path}: must hold exactly one YAML mapping of kind {kind}"])
    return documents[0]


def _yaml_fault(error: yaml.YAMLError) -> str:
    """Return ``:LINE:COLUMN: what is wrong`` for a syntax error."""
    mark = getattr(error, "problem_mark", None)
    place = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
    return f"{place}: is not valid YAML: {getattr(error, 'problem', None) or 'unreadable characters'}"
