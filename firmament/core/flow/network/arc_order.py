"""Orders of arcs by their nodes, of which there are few enough for sorting by counting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64

COUNTED = 2**16
"""Numbers of 16 bits are sorted by counting, in two passes; wider ones by comparing."""


def order_of(nodes: NDArray[np.integer[Any]], number: int) -> Int64:
    """Indices that put ``nodes`` (int[A], from 0 to below ``number``) in order; equal ones stay as they are."""
    return np.argsort(nodes.astype(np.uint16) if number <= COUNTED else nodes, kind="stable")
