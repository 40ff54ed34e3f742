"""Known worths of shapes as entries of ``problem.npz``: ``worths_shape`` and ``worths_worth``, as in
``firmament.core.flow.dual_prices``; a round that knew none has neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmament.artefacts.errors import MalformedEntryError
from firmament.core.flow.dual_prices import Worths


def encode_worths(worths: Worths | None) -> dict[str, NDArray[Any]]:
    """Return the entries by name."""
    return {} if worths is None else {"worths_shape": worths.shape, "worths_worth": worths.worth}


def decode_worths(arrays: Mapping[str, NDArray[Any]], shapes: int) -> Worths | None:
    """Return what ``encode_worths`` was given, None if the entries hold no worths; ``shapes`` is S.

    Raises ``KeyError`` for an entry that is missing, ``MalformedEntryError`` for one that makes no sense.
    """
    if "worths_shape" not in arrays:
        return None
    shape, worth = arrays["worths_shape"], arrays["worths_worth"]
    if shape.dtype != np.int64 or worth.dtype != np.float32 or shape.ndim != 1 or shape.shape != worth.shape:
        raise MalformedEntryError("worths_shape and worths_worth are not int64 and float32 of one length")
    if (np.diff(shape) <= 0).any() or (shape < 0).any() or (shape >= shapes).any():
        raise MalformedEntryError("worths_shape holds numbers out of range or out of order")
    if not np.isfinite(worth).all():
        raise MalformedEntryError("worths_worth holds numbers that are not finite")
    return Worths(shape, worth)
