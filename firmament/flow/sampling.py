"""Systematic sampling of pairs of classes and machines, in proportion to weights.

Weights are laid end to end, and a pair is drawn wherever a mark of an even grid falls into its weight: a stretch of
total weight w gets w pairs, give or take one, instead of a number that depends on chance. It is done twice, once with
the machines of a class side by side and once with the classes of a machine, so that every class and every machine is
met in proportion to its weight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool

Float32 = NDArray[np.float32]

STRIDE = 0.618034
"""Grids of neighbours are shifted by this part of their spacing (the golden section), so that they rarely coincide."""


class SystematicSample:
    """Draws from weights that come a few classes at a time; which pairs are drawn depends on the weights alone."""

    def __init__(self, machines: int) -> None:
        self._drawn_classes = 0
        self._sums = _shifts(0, machines)

    def drawn(self, weight: Float32) -> Bool:
        """bool[C', M']: pairs drawn among the next classes; ``weight``: float32[C', M'], at least 0, overwritten."""
        by_machine = np.empty_like(weight)
        before = np.floor(self._sums)
        for row, line in enumerate(weight):  # a cumulative sum down the columns, whole rows at a time
            self._sums += line
            by_machine[row] = self._sums
        np.floor(by_machine, out=by_machine)
        drawn = np.empty(weight.shape, dtype=np.bool_)
        if len(weight):
            np.not_equal(by_machine[0], before, out=drawn[0])
            np.not_equal(by_machine[1:], by_machine[:-1], out=drawn[1:])
        self._sums -= np.floor(self._sums)
        shift = _shifts(self._drawn_classes, len(weight))
        self._drawn_classes += len(weight)
        weight[:, :1] += shift[:, None]
        by_class = np.cumsum(weight, axis=1, out=weight)
        np.floor(by_class, out=by_class)
        drawn[:, :1] |= by_class[:, :1] != 0
        drawn[:, 1:] |= by_class[:, 1:] != by_class[:, :-1]
        return drawn


def _shifts(first: int, count: int) -> Float32:
    """Where the grids of ``count`` neighbours begin, the ``first`` of them being that number: in 0 to 1."""
    return (((first + np.arange(count)) * STRIDE + 0.5) % 1.0).astype(np.float32)
