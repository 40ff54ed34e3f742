"""Charges random costs, to test the scheduler: each seed has a different best placement.

Source: Firmament's RANDOM cost model, with M = 100,000,000 the largest cost of an arc:

    task -> unscheduled                M/2 + random(M/2) + 1
    task -> cluster aggregator         random(a new unscheduled cost) - 1
    equivalence class -> machine       random(M/2) + 1
    resource -> child                  random(M/4) + 1

This model keeps only the cost from the class to the machine. The other costs are the same for every machine that a
task may choose, or belong to nodes of the network that this project's network does not have. Changes:

* the original drew new costs at every update, so no run could be repeated. in this model, a cost depends on the seed,
  on the class's requests and labels, and on the machine's name, and on nothing else;
* leaving a task unscheduled costs what the scheduler itself charges, above any placement.

As in the original, costs do not grow as a machine fills: classes compete for their favourite machines.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import (
    Assessment,
    BaseModel,
    Int64,
    MachineColumns,
    ModelArgumentError,
    Promises,
    Range,
    ShapeBatch,
    ShapeRow,
)

LARGEST = 50_000_000
"""M/2, the highest cost; the lowest is 1."""


class RandomPolicy(BaseModel):
    """Charges a pseudo-random figure for every pair of a shape and a machine.

    Argument ``seed``: a whole number, at least 0 and below 2**63; each seed gives other costs.
    """

    name = "random"
    kind = "policy"
    range = Range(best=1, worst=LARGEST)
    promises = Promises(per_machine=True)

    def __init__(self, seed: int = 0) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
            raise ModelArgumentError(
                f"random: seed is {seed!r}; it must be a whole number from 0 to 2**63 - 1"
            )
        self._key = seed.to_bytes(8, "little")

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return whole figures from 1 to 50,000,000: float64[S, M]."""
        of_machine = self._hashes([name.encode() for name in machines.names])
        of_shape = self._hashes(
            [
                _content(machines.resources, request, row)
                for request, row in zip(shapes.requests, shapes.rows, strict=True)
            ]
        )
        raw = np.empty((shapes.count, machines.count))
        for row, own in zip(raw, of_shape, strict=True):
            np.add(_mix(of_machine ^ own) % np.uint64(LARGEST), 1.0, out=row)
        return Assessment(raw=raw)

    def _hashes(self, contents: Sequence[bytes]) -> NDArray[np.uint64]:
        """Return a hash of the seed and each text: uint64[N]."""
        digests = b"".join(blake2b(each, digest_size=8, key=self._key).digest() for each in contents)
        return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _content(resources: Sequence[str], request: Int64, row: ShapeRow) -> bytes:
    """Return all properties of a shape as one text, so that equal shapes have equal texts.

    Resources that the shape does not request are left out.
    """
    asked = sorted(
        (name, amount) for name, amount in zip(resources, request.tolist(), strict=True) if amount > 0
    )
    described = (asked, row.namespace, sorted(row.labels.items()), sorted(row.annotations.items()))
    return json.dumps(described).encode()


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit of 64 over all others (the finaliser of SplitMix64), elementwise."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
