"""Groups that would rather be apart as entries of ``problem.npz`` that begin with ``spread_``; most rounds have none.

``spread_group``, ``spread_domain``, ``spread_machine_step``, ``spread_domain_step``, ``spread_resident_group`` and
``spread_resident_machine``: as in ``firmament.core.flow.spread_terms``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmament.artefacts.errors import MalformedEntryError
from firmament.core.flow.spread_terms import SpreadTerms

_KINDS = {
    "group": np.int64,
    "domain": np.int64,
    "machine_step": np.float64,
    "domain_step": np.float64,
    "resident_group": np.int64,
    "resident_machine": np.int64,
}


def encode_spread(terms: SpreadTerms | None) -> dict[str, NDArray[Any]]:
    """Return the entries by name."""
    return {} if terms is None else {f"spread_{name}": getattr(terms, name) for name in _KINDS}


def decode_spread(arrays: Mapping[str, NDArray[Any]], classes: int, machines: int) -> SpreadTerms | None:
    """Return what ``encode_spread`` was given, None if the entries hold no groups.

    Raises ``KeyError`` for an entry that is missing, ``MalformedEntryError`` for one that makes no sense.
    """
    if "spread_group" not in arrays:
        return None
    given = {name: arrays[f"spread_{name}"] for name in _KINDS}
    groups = len(given["machine_step"])
    sizes = {"group": classes, "domain": machines, "machine_step": groups, "domain_step": groups}
    sizes |= dict.fromkeys(("resident_group", "resident_machine"), len(given["resident_group"]))
    for name, array in given.items():
        if array.dtype != _KINDS[name] or array.shape != (sizes[name],):
            raise MalformedEntryError(f"spread_{name} is {array.dtype} of the size {array.shape}")
    limits = {"group": (-1, groups), "domain": (0, machines), "resident_group": (0, groups)}
    for name, (least, bound) in (limits | {"resident_machine": (0, machines)}).items():
        if ((given[name] < least) | (given[name] >= bound)).any():
            raise MalformedEntryError(f"spread_{name} points at what is not there")
    for name in ("machine_step", "domain_step"):
        if not (np.isfinite(given[name]) & (given[name] >= 0)).all():
            raise MalformedEntryError(f"spread_{name} holds numbers that are negative or not finite")
    return SpreadTerms(**given)
