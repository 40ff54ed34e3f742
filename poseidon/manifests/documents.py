"""From paths to parsed documents: files, folders and standard input, YAML or JSON, Lists taken apart."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poseidon.manifests.yaml_text import YamlTextError, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STANDARD_INPUT = "-"
SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Document:
    """One object as parsed. ``source`` names the file, and the place in it where the file holds several."""

    source: str
    api_version: str
    kind: str
    value: dict[str, Any]


def read_documents(paths: Iterable[str], defects: list[str]) -> Iterator[Document]:
    """Yield every object below ``paths``, in order of paths, files and documents.

    ``-`` is standard input; folders are searched recursively in sorted order for .yaml, .yml and .json files.
    What cannot be read or is no object is added to ``defects`` as ``file: what is wrong; what to do``.
    """
    for path in paths:
        for source, text in _texts(path, defects):
            yield from _documents(source, text, defects)


def _texts(path: str, defects: list[str]) -> Iterator[tuple[str, str]]:
    if path == STANDARD_INPUT:
        text = _decode("<stdin>", sys.stdin.buffer.read(), defects)
        if text is not None:
            yield "<stdin>", text
        return
    for file in _files(Path(path), defects):
        try:
            content = file.read_bytes()
        except OSError as error:
            defects.append(f"{file}: cannot be read: {error.strerror}; name a readable file or folder")
            continue
        text = _decode(str(file), content, defects)
        if text is not None:
            yield str(file), text


def _files(path: Path, defects: list[str]) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    if not found:
        defects.append(f"{path}: the folder holds no {', '.join(SUFFIXES)} files; name another one")
    return found


def _decode(source: str, content: bytes, defects: list[str]) -> str | None:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        defects.append(f"{source}: byte {error.start} is not UTF-8 text; save the file as UTF-8")
        return None


def _documents(source: str, text: str, defects: list[str]) -> Iterator[Document]:
    try:
        values = _parse_json(text) if source.endswith(".json") else _parse_either(text)
    except YamlTextError as error:
        defects.append(f"{source}{error.place}: not valid YAML: {error.problem}; correct it")
        return
    except json.JSONDecodeError as error:
        defects.append(f"{source}:{error.lineno}:{error.colno}: not valid JSON: {error.msg}; correct it")
        return
    except RecursionError:
        defects.append(f"{source}: nested too deeply to be a Kubernetes object; correct it")
        return
    several = len(values) > 1
    for index, value in enumerate(values):
        where = f"{source} (document {index + 1})" if several else source
        if value is not None:
            yield from _objects(where, value, defects)


def _parse_json(text: str) -> list[Any]:
    # An absurdly long integer becomes text here, and is refused where its field is converted.
    return [json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 100 else digits)]


def _parse_either(text: str) -> list[Any]:
    """Parse YAML; what looks like JSON is tried as such first, being much faster to read."""
    if text.lstrip()[:1] == "{":
        try:
            return _parse_json(text)
        except json.JSONDecodeError:
            pass
    return parse_yaml(text)


def _objects(
    where: str, value: Any, defects: list[str], kind: str = "", version: str = ""
) -> Iterator[Document]:
    """Yield the object, or those of a List. ``kind`` and ``version`` hold where the object names none."""
    if not isinstance(value, dict):
        found = "a list" if isinstance(value, list) else f"{type(value).__name__} {str(value)[:40]!r}"
        defects.append(f"{where}: expected an object with apiVersion and kind, got {found}; correct it")
        return
    found_kind = value.get("kind", kind)
    found_version = value.get("apiVersion", version)
    for field, given in (("apiVersion", found_version), ("kind", found_kind)):
        if not isinstance(given, str) or not given:
            defects.append(f"{where}: {field}: missing; every Kubernetes object needs one")
            return
    if found_kind == "List" or (found_kind.endswith("List") and "items" in value):
        yield from _items(where, value, defects, found_kind.removesuffix("List"), found_version)
    else:
        yield Document(where, found_version, found_kind, value)


def _items(
    where: str, value: dict[str, Any], defects: list[str], kind: str, version: str
) -> Iterator[Document]:
    """Yield the items of a list; those of a typed one (PodList) need not repeat kind and version."""
    items = value.get("items")
    if items is not None and not isinstance(items, list):
        defects.append(f"{where}: {kind}List: items: expected a list; correct it")
        return
    for index, item in enumerate(items or ()):
        yield from _objects(f"{where} (item {index + 1})", item, defects, kind, version)
