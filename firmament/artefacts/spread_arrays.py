"""Groups that would rather be apart as entries of ``problem.npz`` that begin with ``spread_``; most rounds have none.

``spread_group``, ``spread_domain``, ``spread_machine_step``, ``spread_domain_step``, ``spread_resident_group`` and
``spread_resident_machine``: as in ``firmament.core.flow.spread_terms``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import Arrays, Schema, amount_faults, range_faults, size_faults
from firmament.artefacts.errors import MalformedEntryError
from firmament.core.flow.spread_terms import SpreadTerms

_SIZES: Schema = {
    "group": (np.int64, "C"),
    "domain": (np.int64, "M"),
    "machine_step": (np.float64, "G"),
    "domain_step": (np.float64, "G"),
    "resident_group": (np.int64, "A"),
    "resident_machine": (np.int64, "A"),
}


def encode_spread(terms: SpreadTerms | None) -> dict[str, NDArray[Any]]:
    """Return the entries by name."""
    return {} if terms is None else {f"spread_{name}": getattr(terms, name) for name in _SIZES}


def decode_spread(arrays: Arrays, classes: int, machines: int) -> SpreadTerms | None:
    """Return what ``encode_spread`` was given, None if the entries hold no groups.

    Raises ``KeyError`` for an entry that is missing, ``MalformedEntryError`` for one that makes no sense.
    """
    if "spread_group" not in arrays:
        return None
    given = {name: arrays[f"spread_{name}"] for name in _SIZES}
    for fault in _faults(given, {"C": classes, "M": machines}):
        raise MalformedEntryError(fault)
    return SpreadTerms(**given)


def _faults(given: Arrays, sizes: dict[str, int]) -> Iterator[str]:
    yield from size_faults(given, _SIZES, sizes, "spread_")
    ranges = {"group": (-1, sizes["G"]), "domain": (0, sizes["M"]), "resident_group": (0, sizes["G"])}
    yield from range_faults(given, ranges | {"resident_machine": (0, sizes["M"])}, "spread_")
    yield from amount_faults(given, ("machine_step", "domain_step"), "spread_")
