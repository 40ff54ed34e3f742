"""Finds cost models by name among the installed packages.

Models are published under the entry-point group ``firmament.cost_models``; a package of its own adds a model by
naming it in this group. The class behind an entry point has a class attribute ``kind`` ("policy" or "overlay"). Its
constructor takes the configuration's ``args`` as keyword arguments, and raises ``ModelArgumentError`` for bad ones. A
model's declarations are checked when the model is loaded; a class that cannot even be imported is treated like a
class with wrong declarations.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, cast, get_args

from cost_models.arguments import unknown_argument
from cost_models.declarations import declaration_faults
from cost_models.interface import CostModel, Kind, ModelArgumentError, ModelDeclarationError

GROUP = "firmament.cost_models"

NONE: Mapping[str, Any] = MappingProxyType({})
"""No classes of models but those of installed packages."""


class UnknownModelError(LookupError):
    """No installed package provides a model of that name; the message lists those that exist."""


def _list_installed() -> Mapping[str, EntryPoint]:
    """Return entry points by name.

    Of two entry points with one name, the one from the package first in the alphabet counts.
    """
    return _find_entry_points(tuple((folder, _get_change_time(folder)) for folder in sys.path))


def _get_change_time(folder: str) -> int:
    """Return when a package was last installed in a folder or removed from it, in nanoseconds.

    0 if the folder does not exist.
    """
    try:
        return os.stat(folder or ".").st_mtime_ns  # noqa: PTH116 - each check of a configuration asks for all folders
    except OSError:
        return 0


@lru_cache(maxsize=1)
def _find_entry_points(folders: tuple[tuple[str, int], ...]) -> Mapping[str, EntryPoint]:  # noqa: ARG001 - what is remembered
    """Read the metadata of all packages in ``sys.path``, which takes some milliseconds with a hundred of them."""
    found = sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value), reverse=True)
    return MappingProxyType({point.name: point for point in found})


def list_available(classes: Mapping[str, Any] = NONE) -> dict[str, Kind]:
    """Return names of all installed models and whether each is a base policy or an overlay, sorted by name.

    A model that cannot be imported is left out, so that the others remain usable. ``classes``: models that a program
    brings along, by name; in all functions of this module, they come before installed ones.
    """
    kinds: dict[str, Kind] = {}
    for name in sorted({*_list_installed(), *classes}):
        with suppress(ModelDeclarationError):
            kinds[name] = model_class(name, classes).kind
    return kinds


def model_class(name: str, classes: Mapping[str, Any] = NONE) -> Any:
    """Return the class of the model called ``name``.

    Raises ``UnknownModelError`` if nothing of that name is installed, ``ModelDeclarationError`` if it cannot be
    imported or is of no kind.
    """
    if name in classes:
        return _check_kind(name, classes[name])
    installed = _list_installed()
    if name not in installed:
        raise UnknownModelError(f"no cost model {name!r} is installed; known: {', '.join(sorted(installed))}")
    return _import(installed[name])


def _import(point: EntryPoint) -> Any:
    try:
        found = point.load()
    except Exception as error:
        fault = str(error) if isinstance(error, ModelDeclarationError) else f"{point.value}: {error!r}"
        raise ModelDeclarationError(f"{point.name}: cannot be imported: {fault}") from error
    return _check_kind(point.name, found)


def _check_kind(name: str, found: Any) -> Any:
    """Return a class; raise ``ModelDeclarationError`` unless its ``kind`` is "policy" or "overlay"."""
    if (kind := getattr(found, "kind", None)) not in get_args(Kind):
        raise ModelDeclarationError(f"{name}: kind is {kind!r}; it must be 'policy' or 'overlay'")
    return found


def reader_of(name: str, method: str) -> Any:
    """Return the static method by which the model called ``name`` reads what it has saved.

    Raises ``UnknownModelError`` if no such model is installed or the model has no such method, and the errors of
    ``model_class``.
    """
    reader = getattr(model_class(name), method, None)
    if not callable(reader):
        raise UnknownModelError(f"the cost model {name!r} that is installed has no {method}")
    return reader


def load_model(name: str, args: Mapping[str, Any], classes: Mapping[str, Any] = NONE) -> CostModel:
    """Construct the model called ``name`` with ``args``, and check what it declares of itself.

    Raises ``UnknownModelError`` if nothing with this name is installed, ``ModelArgumentError`` if the model refuses
    an argument (also an unknown one), and ``ModelDeclarationError`` for wrong declarations.
    """
    factory = model_class(name, classes)
    takes = inspect.signature(factory).parameters
    unknown = sorted(set(args) - set(takes), key=str)
    if unknown and not any(each.kind is each.VAR_KEYWORD for each in takes.values()):
        raise unknown_argument(name, unknown[0], list(takes))
    try:
        model = cast("CostModel", factory(**args))
    except TypeError as error:
        raise ModelArgumentError(f"{name}: {error}".replace(f"{factory.__name__}.__init__() ", "")) from error
    except ModelDeclarationError as error:
        raise ModelDeclarationError(f"{name}: {error}") from error
    for fault in declaration_faults(model):
        raise ModelDeclarationError(f"{name}: {fault}")
    return model
