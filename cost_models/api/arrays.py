"""Types of the arrays that models are given and answer with, and what numpy does slowly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Int8 = NDArray[np.int8]
Float64 = NDArray[np.float64]
Bool = NDArray[np.bool_]

Arrays = Mapping[str, NDArray[Any]]


class MalformedArraysError(ValueError):
    """Arrays that nothing can have been saved as; the message names the array and what is wrong with it."""


def any_of_row(flags: Bool) -> Bool:
    """bool[N]: rows of ``flags`` (bool[N, K]) in which some holds; along many short rows numpy is ten times as slow."""
    found: Bool = np.logical_or.reduce(np.ascontiguousarray(flags.T), axis=0)
    return found
