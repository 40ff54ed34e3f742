"""Files of a folder that are no Kubernetes objects: how they are told from broken ones, and what is said of them.

Folders of manifests hold values of Helm charts, kustomizations with their patches, dashboards and configuration of
other programs. What is meant to be a Kubernetes object and cannot be read stays an error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from poseidon.manifests.yaml_text import YamlTextError, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_NAMED = 5
"""So many files are named; of the others it is said how many they are."""

_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_API_VERSION = re.compile(r"""^\s*["'{]*apiVersion["']?\s*:""", re.MULTILINE)
_KIND = re.compile(r"""^\s*["'{]*kind["']?\s*:""", re.MULTILINE)
_ACTION = re.compile(r"\{\{.*?\}\}", re.DOTALL)


def resembles_manifest(text: str) -> bool:
    """Whether text that cannot be parsed was meant to hold an object: it names an API version and a kind."""
    return bool(_API_VERSION.search(text) and _KIND.search(text))


def has_template_actions(text: str) -> bool:
    """Whether text has places that a template engine fills in, as those of Helm charts have."""
    return bool(_ACTION.search(text))


def patches_of(files: Iterable[Path]) -> frozenset[Path]:
    """Return the files that kustomizations among ``files`` apply to others: parts of objects, which are none by
    themselves. A kustomization that cannot be read names none."""
    return frozenset(patch for file in files if file.name in _KUSTOMIZATIONS for patch in _patches(file))


def _patches(kustomization: Path) -> Iterator[Path]:
    try:
        values = parse_yaml(kustomization.read_text(encoding="utf-8"))
    except (OSError, ValueError, YamlTextError, RecursionError):
        return
    for value in values:
        if not isinstance(value, dict):
            continue
        for field in ("patches", "patchesStrategicMerge", "patchesJson6902"):
            entries = value.get(field)
            for entry in entries if isinstance(entries, list) else ():
                path = _path(entry)
                if path:
                    yield (kustomization.parent / path).resolve()


def _path(entry: Any) -> str:
    """Return the file that an entry names; "" for a patch that is written out in place."""
    if isinstance(entry, dict):
        entry = entry.get("path")
    return entry if isinstance(entry, str) and "\n" not in entry and "\0" not in entry else ""


class ForeignFiles:
    """Collects what of one folder is left out, and says so in a few lines."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._other: dict[str, None] = {}
        self._templates: dict[str, None] = {}
        self._patches: dict[str, None] = {}

    def other(self, where: str) -> None:
        """Take note of a file, or of one document of it, that is no Kubernetes object."""
        self._other[where] = None

    def template(self, file: str) -> None:
        """Take note of a file that has to be filled in before it holds objects."""
        self._templates[file] = None

    def patch(self, file: str) -> None:
        """Take note of a file that a kustomization applies to other objects."""
        self._patches[file] = None

    def warnings(self) -> Iterator[str]:
        """Yield a line per reason to leave files out."""
        for found, what, remedy in (
            (self._other, "hold no Kubernetes objects", ""),
            (self._templates, "are templates", "; render them first, as helm template does"),
            (self._patches, "are patches", "; kubectl kustomize prints what becomes of the objects"),
        ):
            if found:
                yield f"{self._folder}: left out, as they {what}: {self._listed(found)}{remedy}"

    def _listed(self, found: Iterable[str]) -> str:
        prefix = f"{self._folder}/"
        names = [each.removeprefix(prefix) for each in found]
        more = len(names) - _NAMED
        return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
