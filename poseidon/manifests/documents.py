"""Reads objects in YAML or JSON from files, folders and standard input, and splits Lists into their items.

A file that the user names must contain Kubernetes objects; everything else in it is a defect. Folders also contain
other files: values of Helm charts, kustomizations with their patches, dashboards, configuration of other programs. In
folders, documents that are no Kubernetes objects are skipped with a warning, and broken Kubernetes objects are
errors.
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
    build_kustomization,
    command,
    find_roots,
    find_used_files,
    kustomizations,
)
from poseidon.manifests.warning_phrases import RENDER_FIRST, list_names
from poseidon.manifests.yaml_text import YamlTextError, parse_yaml

_NAMED = 5
"""Most files that a warning names; the warning counts all further files."""

_OTHER = ("hold no Kubernetes objects", "")
_TEMPLATES = ("are templates", f"; {RENDER_FIRST}")
_PATCHES = ("are patches", f"; with {TOOLS} on PATH they are applied")
_KUSTOMIZATIONS = ("are kustomizations", f"; with {TOOLS} on PATH they are followed")
"""Why the kustomizations of folders are left out, and what the user can do, for each of the three reasons."""

_API_VERSION = re.compile(r"""^\s*["'{]*apiVersion["']?\s*:""", re.MULTILINE)
_KIND = re.compile(r"""^\s*["'{]*kind["']?\s*:""", re.MULTILINE)
_ACTION = re.compile(r"\{\{.*?\}\}", re.DOTALL)

HELD_LIST = {"annotations": {"firmament.io/held-by": "live-cluster"}}
"""Metadata that marks a list of objects as taken from a live cluster."""

STANDARD_INPUT = "-"
SUFFIXES = (".yaml", ".yml", ".json")


def resembles_manifest(text: str) -> bool:
    """Return whether unparsable text was meant to be an object, because it names an API version and a kind."""
    return bool(_API_VERSION.search(text) and _KIND.search(text))


def has_template_actions(text: str) -> bool:
    """Return whether a text has actions of a template engine, such as those in Helm charts."""
    return bool(_ACTION.search(text))


@dataclass(frozen=True, slots=True)
class Document:
    """One object as parsed from the input.

    ``source`` names the file and, if the file contains several objects, the place in it.

    If ``template``, the object comes from a folder's file with template actions; its faults may be places that a
    template engine still fills in. If ``held``, the object comes from a live cluster, and is used as far as possible,
    even if the API server would refuse it today.
    """

    source: str
    api_version: str
    kind: str
    value: dict[str, Any]
    template: bool = False
    held: bool = False


@dataclass(frozen=True, slots=True)
class _Fault:
    """A fault in a document, and its place.

    If ``foreign``, the document is no Kubernetes object at all; otherwise it is a broken one.
    """

    where: str
    problem: str
    foreign: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


@dataclass(frozen=True, slots=True)
class GivenText:
    """YAML or JSON that a calling program passes as text; messages call it ``source``."""

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class GivenObject:
    """An object, or a list of objects, that a calling program has parsed; if ``held``, it comes from a live cluster."""

    source: str
    value: Any
    held: bool = False


Given = str | GivenText | GivenObject
"""A path, or content that a calling program passes."""


def read_documents(
    paths: Iterable[Given], defects: list[str], warnings: list[str], kustomized: Iterable[str] = ()
) -> Iterator[Document]:
    """Yield all objects in ``paths``, in the order of paths, files and documents; then the objects of ``kustomized``.

    The path ``-`` is standard input. Folders are searched recursively, in sorted order, for .yaml, .yml and .json
    files. If ``kustomize`` or ``kubectl`` is installed, kustomizations in the folders of ``paths`` are built; what
    they make replaces the files that they use. The folders ``kustomized`` have kustomizations that must be built.
    Unreadable files, and documents of named files that are no objects, are added to ``defects`` as ``file: what is
    wrong; what to do``. Documents in folders that are no objects are added to ``warnings``.
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
    """Yield the objects of a file that the user has named; a document that is no object is a defect."""
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
    """Yield the objects that the kustomization of a folder makes."""
    try:
        made = build_kustomization(folder)
    except KustomizeError as error:
        defects.append(f"{folder}: cannot be kustomized: {error}")
    else:
        yield from _iter_named(f"{folder} (kustomized)", made, defects)


class _Folder:
    """The objects of a folder's files; if a file or document holds no object, it is left out with a warning."""

    def __init__(self, folder: Path, defects: list[str], warnings: list[str]) -> None:
        self._folder, self._defects, self._warnings = folder, defects, warnings
        self._left_out: dict[tuple[str, str], dict[str, None]] = {
            _OTHER: {},
            _TEMPLATES: {},
            _PATCHES: {},
            _KUSTOMIZATIONS: {},
        }

    def documents(self) -> Iterator[Document]:
        """Yield the objects of the folder; objects that a kustomization makes come at the position of its file."""
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
        self._warn_of_left_out()

    def _follow(self, known: list[Kustomization]) -> tuple[dict[Path, bytes], set[Path]]:
        """Build the folder's kustomizations; return what each makes, by file, and the files that they have used."""
        made: dict[Path, bytes] = {}
        used: set[Path] = set()
        for root in find_roots(known) if known and command() else ():
            try:
                made[root.file] = build_kustomization(root.folder)
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

    def _warn_of_left_out(self) -> None:
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
    """Return the values of several JSON documents in one text, as `jq` and repeated `kubectl get` print them."""
    # An integer of absurd length stays text, and the conversion of its field refuses it.
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
    """Parse YAML; if the text looks like JSON, try to parse JSON first, which is much faster."""
    if text.lstrip()[:1] == "{":
        try:
            return _parse_json(text)
        except json.JSONDecodeError:
            pass
    return parse_yaml(text)


def _objects(
    where: str, value: Any, faults: list[_Fault], kind: str = "", version: str = "", *, held: bool = False
) -> Iterator[Document]:
    """Yield an object, or the objects of a List. ``kind`` and ``version`` apply if the object states none.

    If ``held``, the object comes from a list that was taken from a live cluster.
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
    """Yield the objects of a list; items of a typed list (such as PodList) need not repeat kind and version."""
    items = value.get("items")
    if items is not None and not isinstance(items, list):
        faults.append(_Fault(where, f"{kind}List: items: expected a list; correct it"))
        return
    held = held or value.get("metadata") == HELD_LIST
    for index, item in enumerate(items or ()):
        yield from _objects(f"{where} (item {index + 1})", item, faults, kind, version, held=held)
