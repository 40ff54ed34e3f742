"""Builds kustomizations, and finds the files that they use.

The programs ``kustomize`` or ``kubectl`` do the building. If neither program is installed, the files are read as they
are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from poseidon.manifests.yaml_text import YamlTextError, parse_yaml

FILES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""Names of files that can hold a kustomization."""

TOOLS = "kustomize or kubectl"
_SECONDS = 120
_PATCH_FIELDS = ("patches", "patchesStrategicMerge", "patchesJson6902")


class KustomizeError(ValueError):
    """Raised if a kustomization cannot be built; the text says why."""


def command() -> tuple[str, ...]:
    """Return the command that builds a folder, without the folder's name, or () if no suitable program is installed."""
    for name, verb in (("kustomize", "build"), ("kubectl", "kustomize")):
        if found := shutil.which(name):
            return found, verb
    return ()


def build_kustomization(folder: Path) -> bytes:
    """Return the objects that a folder's kustomization makes, as YAML.

    Raises ``KustomizeError`` if the kustomization cannot be built.
    """
    tool = command()
    if not tool:
        raise KustomizeError(f"needs {TOOLS} on PATH; install one of them")
    try:
        made = subprocess.run(  # noqa: S603 - the program that the user has installed for this
            [*tool, str(folder)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )
    except subprocess.TimeoutExpired:
        raise KustomizeError(f"{Path(tool[0]).name} takes more than {_SECONDS} s") from None
    except OSError as error:
        raise KustomizeError(f"{tool[0]} cannot be run: {error.strerror}") from None
    if made.returncode:
        lines = made.stderr.decode("utf-8", "replace").strip().splitlines()
        messages = [line for line in lines if not line.startswith("#")] or ["it says nothing"]
        raise KustomizeError(
            f"{Path(tool[0]).name}: {messages[-1].removeprefix('error: ').removeprefix('Error: ')}"
        )
    return made.stdout


@dataclass(frozen=True, slots=True)
class Kustomization:
    """A kustomization in ``file``; ``used`` has the files and folders that it names, ``patches`` the patches of them.

    If ``is_component``, the kustomization makes no objects by itself.
    """

    file: Path
    used: frozenset[Path]
    patches: frozenset[Path]
    is_component: bool

    @property
    def folder(self) -> Path:
        """The folder that contains the kustomization."""
        return self.file.parent


def kustomizations(files: Iterable[Path]) -> list[Kustomization]:
    """Return the kustomizations among ``files``; a kustomization that is unreadable names no files."""
    return [_read(file) for file in files if file.name in FILES]


def find_roots(found: Iterable[Kustomization]) -> list[Kustomization]:
    """Return the kustomizations that no other kustomization uses."""
    known = list(found)
    used = {folder for each in known for folder in each.used}
    return [each for each in known if not each.is_component and each.folder.resolve() not in used]


def find_used_files(root: Kustomization, found: Iterable[Kustomization]) -> frozenset[Path]:
    """Return all files that a kustomization uses, directly or through other kustomizations."""
    by_folder = {each.folder.resolve(): each for each in found}
    reached: set[Path] = set()
    waiting = [root.folder.resolve()]
    while waiting:
        part = waiting.pop()
        if part in reached:
            continue
        reached.add(part)
        if part in by_folder:
            waiting.extend((by_folder[part].file.resolve(), *by_folder[part].used))
    return frozenset(reached)


def _read(file: Path) -> Kustomization:
    try:
        values = [each for each in parse_yaml(file.read_text(encoding="utf-8")) if isinstance(each, dict)]
    except (OSError, ValueError, YamlTextError, RecursionError):
        values = []
    used = {path for value in values for text in _texts(value) for path in _paths(file.parent, text)}
    patches = {path for value in values for text in _patches(value) for path in _paths(file.parent, text)}
    is_component = any(value.get("kind") == "Component" for value in values)
    return Kustomization(file, frozenset(used), frozenset(patches), is_component)


def _paths(folder: Path, text: str) -> Iterator[Path]:
    """Yield the paths that a text may name: the text, and its part after ``key=`` as in entries of generators."""
    for name in (text, text.partition("=")[2]):
        # A patch written in the kustomization has several lines, and a URL names no file; neither is a path.
        if name and len(name) < 1000 and "\n" not in name and "\0" not in name and "://" not in name:
            try:
                path = (folder / name).resolve()
                if path.exists() and path != folder.resolve():
                    yield path
            except (OSError, RuntimeError):
                continue


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts within a value; parts that occur several times are visited once."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict | list) and id(part) not in seen:
            seen.add(id(part))
            waiting.extend(part.values() if isinstance(part, dict) else part)


def _patches(kustomization: dict[str, Any]) -> Iterator[str]:
    for field in _PATCH_FIELDS:
        entries = kustomization.get(field)
        for entry in entries if isinstance(entries, list) else ():
            path = entry.get("path") if isinstance(entry, dict) else entry
            if isinstance(path, str):
                yield path
