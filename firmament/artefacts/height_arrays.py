"""Heights as entries of ``problem.npz`` that begin with ``heights_``; a round whose models state none has none.

* ``heights_start``, ``heights_rate``, ``heights_amount``, ``heights_growth``: as in ``firmament.core.flow.size_costs``;
* ``heights_charge``: of each charge its best figure, units per figure, and most; ``heights_raw_N``: its figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Float64
from firmament.artefacts.errors import MalformedEntryError
from firmament.core.flow.size_costs import Charge, Heights


def encode_heights(heights: Heights | None) -> dict[str, NDArray[Any]]:
    """Return the entries by name."""
    if heights is None:
        return {}
    charges = [(charge.best, charge.per_unit, charge.most) for charge in heights.charges]
    return {
        "heights_start": heights.start,
        "heights_rate": heights.rate,
        "heights_amount": heights.amount,
        "heights_growth": heights.growth,
        "heights_charge": np.array(charges, dtype=np.float64).reshape(len(charges), 3),
        **{f"heights_raw_{number}": charge.raw for number, charge in enumerate(heights.charges)},
    }


def decode_heights(arrays: Mapping[str, NDArray[Any]], shapes: int, machines: int) -> Heights | None:
    """Return what ``encode_heights`` was given, None if the entries hold no heights.

    Raises ``KeyError`` for an entry that is missing, ``MalformedEntryError`` for one that makes no sense.
    """
    if "heights_start" not in arrays:
        return None
    amount = _floats(arrays, "heights_amount", (shapes, None))
    heights = Heights(
        start=_floats(arrays, "heights_start", (machines,)),
        rate=_floats(arrays, "heights_rate", (amount.shape[1], machines)),
        amount=amount,
        growth=_floats(arrays, "heights_growth", (machines,)),
        charges=tuple(
            Charge(_figures(arrays, f"heights_raw_{number}", (shapes, machines)), *values)
            for number, values in enumerate(_floats(arrays, "heights_charge", (None, 3)).tolist())
        ),
    )
    for name in ("start", "rate", "amount", "growth"):
        values = getattr(heights, name)
        if not (np.isfinite(values) & (values >= 0)).all():
            raise MalformedEntryError(f"heights_{name} holds numbers that are negative or not finite")
    return heights


def _floats(arrays: Mapping[str, NDArray[Any]], name: str, size: tuple[int | None, ...]) -> Float64:
    array = _figures(arrays, name, size)
    if array.dtype != np.float64:
        raise MalformedEntryError(f"{name} is {array.dtype}, not float64")
    return array


def _figures(arrays: Mapping[str, NDArray[Any]], name: str, size: tuple[int | None, ...]) -> NDArray[Any]:
    """Return the entry; None in ``size``: any number."""
    array = arrays[name]
    if array.dtype.kind not in "iuf" or array.ndim != len(size):
        raise MalformedEntryError(
            f"{name} is {array.dtype} with {array.ndim} dimensions, not {len(size)} of numbers"
        )
    if any(wanted is not None and found != wanted for found, wanted in zip(array.shape, size, strict=True)):
        raise MalformedEntryError(f"{name} has the size {array.shape}, which does not match the problem")
    return array
