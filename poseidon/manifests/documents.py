"""Reads documents from paths: files, folders and standard input, YAML or JSON, with Lists taken apart.

A file that a user names must contain Kubernetes objects; anything else in it is a defect. Folders contain
other files, too: values of Helm charts, kustomizations with their patches, dashboards, configuration of other
programs. There, documents that are no Kubernetes objects are skipped with a warning; broken Kubernetes
objects are errors.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from poseidon.kube.parsing.readable import repair_characters
from poseidon.manifests.kustomize import FILES as KUSTOMIZATIONS
from poseidon.manifests.kustomize import (
    TOOLS,
    Kustomization,
    KustomizeError,
    build,
    command,
    find_used_files,
    kustomizations,
    roots,
)
from poseidon.manifests.wording import RENDER_FIRST, list_names
from poseidon.manifests.yaml_text import YamlTextError, parse_yaml

_NAMED = 5
"""Most files that are named; the others are counted."""

_OTHER = ("hold no Kubernetes objects", "")
_TEMPLATES = ("are templates", f"; {RENDER_FIRST}")
_PATCHES = ("are patches", f"; with {TOOLS} on PATH they are applied")
_KUSTOMIZATIONS = ("are kustomizations", f"; with {TOOLS} on PATH they are followed")
"""Why files of folders, or documents of them, are left out, and what to do."""

_API_VERSION = re.compile(r"""^\s*["'{]*apiVersion["']?\s*:""", re.MULTILINE)
_KIND = re.compile(r"""^\s*["'{]*kind["']?\s*:""", re.MULTILINE)
_ACTION = re.compile(r"\{\{.*?\}\}", re.DOTALL)

HELD_LIST = {"annotations": {"firmament.io/held-by": "live-cluster"}}
"""Metadata of a list of objects as a live cluster holds them."""

STANDARD_INPUT = "-"
SUFFIXES = (".yaml", ".yml", ".json")


def resembles_manifest(text: str) -> bool:
    """Return whether text that cannot be parsed was meant to hold an object: it names an API version and a
    kind.
    """
    return bool(_API_VERSION.search(text) and _KIND.search(text))


def has_template_actions(text: str) -> bool:
    """Return whether text has places that a template engine fills in, as those of Helm charts have."""
    return bool(_ACTION.search(text))


@dataclass(frozen=True, slots=True)
class Document:
    """One object as parsed. ``source`` names the file, and the place in it where the file holds several.

    ``template``: the object comes from a folder's file with template actions, so that its faults may be places
    that are still to be filled in. ``held``: a live cluster holds it, so that it is used as far as it can be, whatever
    its API server would refuse by now.
    """

    source: str
    api_version: str
    kind: str
    value: dict[str, Any]
    template: bool = False
    held: bool = False


@dataclass(frozen=True, slots=True)
class _Fault:
    """What is wrong at a place. ``foreign``: it is not a broken Kubernetes object, but none at all."""

    where: str
    problem: str
    foreign: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


@dataclass(frozen=True, slots=True)
class GivenText:
    """YAML or JSON that a program has at hand; ``source`` is what messages call it."""

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class GivenObject:
    """An object, or a list of them, as a program has read it; ``held``: from a live cluster."""

    source: str
    value: Any
    held: bool = False


Given = str | GivenText | GivenObject
"""A path, or what a program has."""


def read_documents(
    paths: Iterable[Given], defects: list[str], warnings: list[str], kustomized: Iterable[str] = ()
) -> Iterator[Document]:
    """Yield every object below ``paths``, in order of paths, files and documents; then what kustomizations make.

    ``-`` is standard input; folders are searched recursively in sorted order for .yaml, .yml and .json files. A
    kustomization among them is built if there is a program for that, and then replaces the files that it uses.
    Kustomizations in the folders ``kustomized`` must be built. What cannot be read or is no object is added to
    ``defects`` as ``file: what is wrong; what to do``; what is found in a folder and is no Kubernetes object, to
    ``warnings``.
    """
    for path in paths:
        if isinstance(path, GivenText):
            yield from _iter_named(path.source, path.text.encode(), defects)
        elif isinstance(path, GivenObject):
            yield from _iter_objects(path, defects)
        elif path == STANDARD_INPUT:
            yield from _iter_named("<stdin>", sys.stdin.buffer.read(), defects)
        elif os.path.isdir(path):  # noqa: PTH112 - unlike pathlib, it takes any text
            yield from _Folder(Path(path), defects, warnings).documents()
        elif Path(path).name in KUSTOMIZATIONS and Path(path).is_file() and command():
            yield from _kustomize(Path(path).parent, defects)
        else:
            content = _content(Path(path), defects)
            if content is not None:
                yield from _iter_named(path, content, defects)
    for folder in kustomized:
        yield from _kustomize(Path(folder), defects)


def _iter_named(source: str, content: bytes, defects: list[str]) -> Iterator[Document]:
    """Yield the objects of what the user has named. Whatever is none is a defect."""
    faults: list[_Fault] = []
    text = _decode(source, content, faults)
    if text is not None:
        yield from _documents(source, text, faults)
    defects.extend(map(str, faults))


def _iter_objects(given: GivenObject, defects: list[str]) -> Iterator[Document]:
    faults: list[_Fault] = []
    yield from _objects(given.source, given.value, faults, held=given.held)
    defects.extend(map(str, faults))


def _kustomize(folder: Path, defects: list[str]) -> Iterator[Document]:
    """Yield the objects of a folder that the user wants to have kustomized."""
    try:
        made = build(folder)
    except KustomizeError as error:
        defects.append(f"{folder}: cannot be kustomized: {error}")
    else:
        yield from _iter_named(f"{folder} (kustomized)", made, defects)


class _Folder:
    """The objects of a folder's files; files and documents that are none are left out with a warning."""

    def __init__(self, folder: Path, defects: list[str], warnings: list[str]) -> None:
        self._folder, self._defects, self._warnings = folder, defects, warnings
        self._left_out: dict[tuple[str, str], dict[str, None]] = {
            _OTHER: {},
            _TEMPLATES: {},
            _PATCHES: {},
            _KUSTOMIZATIONS: {},
        }

    def documents(self) -> Iterator[Document]:
        """Yield them, those of a kustomization where its file stands."""
        found = (
            file for file in self._folder.rglob("*") if file.suffix in SUFFIXES or file.name in KUSTOMIZATIONS
        )
        files = sorted(file for file in found if file.is_file())
        if not files:
            suffixes = ", ".join(SUFFIXES)
            self._defects.append(f"{self._folder}: the folder holds no {suffixes} files; name another one")
        known = kustomizations(files)
        made, used = self._follow(known)
        patches = frozenset(path for each in known for path in each.patches)
        for file in files:
            if file in made:
                yield from self._of_text(f"{file.parent} (kustomized)", made[file])
            elif (path := file.resolve()) in used:
                continue
            elif path in patches:
                self._leave_out(_PATCHES, file)
            elif file.name in KUSTOMIZATIONS:
                self._leave_out(_KUSTOMIZATIONS, file)
            elif (content := _content(file, self._defects)) is not None:
                yield from self._of_text(str(file), content)
        self._tell()

    def _follow(self, known: list[Kustomization]) -> tuple[dict[Path, bytes], set[Path]]:
        """Return the objects that kustomizations make, by their files, and the files that these have read."""
        made: dict[Path, bytes] = {}
        used: set[Path] = set()
        for root in roots(known) if known and command() else ():
            try:
                made[root.file] = build(root.folder)
            except KustomizeError as error:
                self._warnings.append(f"{root.file}: not followed, its files are read as they are: {error}")
            else:
                used |= find_used_files(root, known)
        return made, used

    def _of_text(self, source: str, content: bytes) -> Iterator[Document]:
        faults: list[_Fault] = []
        text = _decode(source, content, faults)
        found = list(_documents(source, text, faults)) if text is not None else []
        template = text is not None and has_template_actions(text)
        for fault in faults:
            if template:
                self._leave_out(_TEMPLATES, source)
            elif fault.foreign:
                self._leave_out(_OTHER, fault.where)
            else:
                self._defects.append(str(fault))
        yield from (replace(each, template=template) for each in found)

    def _leave_out(self, why: tuple[str, str], what: Path | str) -> None:
        self._left_out[why][str(what).removeprefix(f"{self._folder}/")] = None

    def _tell(self) -> None:
        for (what, remedy), names in self._left_out.items():
            if names:
                shown = list_names(names, _NAMED)
                self._warnings.append(f"{self._folder}: left out, as they {what}: {shown}{remedy}")


def _content(file: Path, defects: list[str]) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError as error:
        remedy = "name a readable file or folder"
        if file.parts[0] in ("http:", "https:"):
            remedy = "addresses are not fetched: save it as a file first, or give it to `-f -`"
        defects.append(f"{file}: cannot be read: {error.strerror}; {remedy}")
        return None


def _decode(source: str, content: bytes, faults: list[_Fault]) -> str | None:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} is not UTF-8 text; save the file as UTF-8"
        faults.append(_Fault(source, problem, foreign=True))
        return None


def _documents(source: str, text: str, faults: list[_Fault]) -> Iterator[Document]:
    try:
        values = _parse_json(text) if source.endswith(".json") else _parse_either(text)
    except (YamlTextError, json.JSONDecodeError, RecursionError) as error:
        faults.append(_unparsable(source, text, error))
        return
    several = len(values) > 1
    for index, value in enumerate(values):
        where = f"{source} (document {index + 1})" if several else source
        if value is not None:
            yield from _objects(where, value, faults)


def _unparsable(source: str, text: str, error: Exception) -> _Fault:
    foreign = not resembles_manifest(text)
    if isinstance(error, YamlTextError):
        return _Fault(f"{source}{error.place}", f"not valid YAML: {error.problem}; correct it", foreign)
    if isinstance(error, json.JSONDecodeError):
        place = f":{error.lineno}:{error.colno}"
        return _Fault(f"{source}{place}", f"not valid JSON: {error.msg}; correct it", foreign)
    return _Fault(source, "nested too deeply to be a Kubernetes object; correct it", foreign)


def _parse_json(text: str) -> list[Any]:
    """Return the values of JSON documents, one after the other as `jq` and repeated `kubectl get` print them."""
    # An absurdly long integer becomes text here, and is refused where its field is converted.
    text = repair_characters(text.encode()).decode() if "\\u" in text else text
    decoder = json.JSONDecoder(parse_int=lambda digits: int(digits) if len(digits) < 100 else digits)
    values: list[Any] = []
    end, length = 0, len(text)
    while True:
        start = end
        while start < length and text[start] in " \t\r\n":
            start += 1
        if start == length and values:
            return values
        value, end = decoder.raw_decode(text, start)
        values.append(value)


def _parse_either(text: str) -> list[Any]:
    """Parse YAML; what looks like JSON is tried as such first, being much faster to read."""
    if text.lstrip()[:1] == "{":
        try:
            return _parse_json(text)
        except json.JSONDecodeError:
            pass
    return parse_yaml(text)


def _objects(
    where: str, value: Any, faults: list[_Fault], kind: str = "", version: str = "", *, held: bool = False
) -> Iterator[Document]:
    """Yield the object, or those of a List. ``kind`` and ``version`` hold where the object names none.

    ``held``: it comes from a list of what a live cluster holds.
    """
    if not isinstance(value, dict):
        found = "a list" if isinstance(value, list) else f"{type(value).__name__} {str(value)[:40]!r}"
        problem = f"expected an object with apiVersion and kind, got {found}; correct it"
        faults.append(_Fault(where, problem, foreign=True))
        return
    found_kind = value.get("kind", kind)
    found_version = value.get("apiVersion", version)
    for field, given in (("apiVersion", found_version), ("kind", found_kind)):
        if not isinstance(given, str) or not given:
            problem = f"{field}: missing; every Kubernetes object needs one"
            faults.append(_Fault(where, problem, foreign=True))
            return
    if found_kind == "List" or (found_kind.endswith("List") and "items" in value):
        yield from _items(where, value, faults, found_kind.removesuffix("List"), found_version, held=held)
    else:
        yield Document(where, found_version, found_kind, value, held=held)


def _items(
    where: str, value: dict[str, Any], faults: list[_Fault], kind: str, version: str, *, held: bool
) -> Iterator[Document]:
    """Yield the items of a list; those of a typed one (PodList) need not repeat kind and version."""
    items = value.get("items")
    if items is not None and not isinstance(items, list):
        faults.append(_Fault(where, f"{kind}List: items: expected a list; correct it"))
        return
    held = held or value.get("metadata") == HELD_LIST
    for index, item in enumerate(items or ()):
        yield from _objects(f"{where} (item {index + 1})", item, faults, kind, version, held=held)
