"""Heights as entries of ``problem.npz`` that begin with ``heights_``; a round whose models state none has none.

* ``heights_start``, ``heights_rate``, ``heights_amount``, ``heights_growth``: as in ``firmament.core.flow.size_costs``;
* ``heights_charge``: of each charge its best figure, units per figure, and most; ``heights_raw_N``: its figures.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import Arrays, Schema, amount_faults, size_faults
from firmament.artefacts.errors import MalformedEntryError
from firmament.core.flow.size_costs import Charge, Heights

_AMOUNTS = ("start", "rate", "amount", "growth")
_SIZES: Schema = {
    "start": (np.float64, "M"),
    "amount": (np.float64, "SR"),
    "rate": (np.float64, "RM"),
    "growth": (np.float64, "M"),
    "charge": (np.float64, "CF"),
}


def encode_heights(heights: Heights | None) -> dict[str, NDArray[Any]]:
    """Return the entries by name."""
    if heights is None:
        return {}
    charges = [(charge.best, charge.per_unit, charge.most) for charge in heights.charges]
    return {
        **{f"heights_{name}": getattr(heights, name) for name in _AMOUNTS},
        "heights_charge": np.array(charges, dtype=np.float64).reshape(len(charges), 3),
        **{f"heights_raw_{number}": charge.raw for number, charge in enumerate(heights.charges)},
    }


def decode_heights(arrays: Arrays, shapes: int, machines: int) -> Heights | None:
    """Return what ``encode_heights`` was given, None if the entries hold no heights.

    Raises ``KeyError`` for an entry that is missing, ``MalformedEntryError`` for one that makes no sense.
    """
    if "heights_start" not in arrays:
        return None
    given = {name: arrays[f"heights_{name}"] for name in _SIZES}
    faults = size_faults(given, _SIZES, {"S": shapes, "M": machines, "F": 3}, "heights_")
    for fault in chain(faults, amount_faults(given, _AMOUNTS, "heights_")):
        raise MalformedEntryError(fault)
    charges = []
    for number, values in enumerate(given["charge"].tolist()):
        raw = arrays[f"heights_raw_{number}"]
        if raw.dtype.kind not in "iuf" or raw.shape != (shapes, machines):
            raise MalformedEntryError(f"heights_raw_{number} is {raw.dtype} of the size {raw.shape}")
        charges.append(Charge(raw, *values))
    return Heights(**{name: given[name] for name in _AMOUNTS}, charges=tuple(charges))
