"""Finds cost models by name among the installed packages.

Models are published under the entry-point group ``firmament.cost_models``; a package of its own adds one by naming it
there. The class behind an entry point has a class attribute ``kind`` ("policy" or "overlay") and a constructor that
takes the configuration's ``args`` as keyword arguments and raises ``ModelArgumentError`` for bad ones.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeAlias, cast

from cost_models.arguments import unknown_argument
from cost_models.interface import CostModel, ModelArgumentError

GROUP = "firmament.cost_models"
Kind: TypeAlias = Literal["policy", "overlay"]


class UnknownModelError(LookupError):
    """No installed package provides a model of that name; the message lists those that exist."""


def _installed() -> dict[str, EntryPoint]:
    """Entry points by name; of two with one name the one from the package first in the alphabet counts."""
    found = sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value), reverse=True)
    return {point.name: point for point in found}


def available() -> dict[str, Kind]:
    """Names of all installed models and whether each is a base policy or an overlay, sorted by name."""
    return {name: cast("Kind", point.load().kind) for name, point in sorted(_installed().items())}


def model_class(name: str, *, needs: str = "") -> Any:
    """Return the class of the model called ``name``; raises ``UnknownModelError`` if nothing of that name is installed.

    ``needs``: an attribute without which a class does not count.
    """
    point = _installed().get(name)
    if point is None:
        raise UnknownModelError(
            f"no cost model {name!r} is installed; known: {', '.join(sorted(_installed()))}"
        )
    found = point.load()
    if needs and not hasattr(found, needs):
        raise UnknownModelError(f"the cost model {name!r} that is installed has no {needs}")
    return found


def load_model(name: str, args: Mapping[str, Any]) -> CostModel:
    """Construct the model called ``name`` with ``args``.

    Raises ``UnknownModelError`` if nothing of that name is installed, and ``ModelArgumentError`` if the model refuses
    an argument (unknown arguments included).
    """
    factory = model_class(name)
    takes = inspect.signature(factory).parameters
    unknown = sorted(set(args) - set(takes), key=str)
    if unknown and not any(each.kind is each.VAR_KEYWORD for each in takes.values()):
        raise unknown_argument(name, unknown[0], list(takes))
    try:
        return cast("CostModel", factory(**args))
    except TypeError as error:
        raise ModelArgumentError(f"{name}: {error}".replace(f"{factory.__name__}.__init__() ", "")) from error
