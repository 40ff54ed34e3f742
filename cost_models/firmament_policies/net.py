"""Free network bandwidth: tasks go where most of it is left, and never together beyond what a machine has.

Source: Firmament's NET cost model. A class of tasks with bandwidth request ``req`` has up to ten slots on a machine;
the i-th of them (i = 1, 2, ...), there only while i x req <= avail, costs

    i x req - avail + 1,280,000        avail = the machine's bandwidth - what is measured to be used

1,280,000 being what the fastest machine offers (10 Gbit/s in KiB/s). Here all figures are in bits per second, and the
argument ``linkBandwidth`` takes that constant's place. Mended or replaced:

* the sum over classes was not bounded: every class had slots of its own, and together they overfilled a machine.
  Here a joint row per machine bounds what all tasks of a round take to ``avail``;
* tasks that were placed but not measured yet used nothing, so that round after round gave the same bandwidth away.
  Here ``avail`` is the bandwidth less what is measured or what the tasks there ask for, whichever is more;
* at most ten tasks of a class came to a machine in a round: a limit of the encoding, which is gone;
* less important tasks may be evicted for more important ones: what they ask for comes back, what is measured to be
  used does not, as nobody knows whose it is;
* machines faster than ``linkBandwidth`` count, as far as cost goes, as having so much free at most, and cost no less
  than nothing; their room is counted in full;
* leaving a task unscheduled costs what the scheduler itself charges, above any placement, instead of 2,560,000.

Input. What a task asks for is its request of the resource ``network.aware.com/bandwidth`` or its pod label
``networkRequirement``, whichever is larger. The bandwidth of a machine is that resource, or else its annotation
``firmament.io/network-bandwidth``, or else 0: only tasks that ask for none may run there. Measured use is the sample of
the same resource. All are whole numbers of bits per second; others are noted, and count as absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import (
    Assessment,
    BaseModel,
    Float64,
    Int64,
    JointRows,
    MachineColumns,
    ModelArgumentError,
    Needs,
    Range,
    Returned,
    ShapeBatch,
    ShapeRow,
)

BANDWIDTH = "network.aware.com/bandwidth"
LABEL = "networkRequirement"
ANNOTATION = "firmament.io/network-bandwidth"
REASON = "node(s) had too little free network bandwidth"

LINK = 10_000_000_000
"""10 Gbit/s, what the original took for the fastest link."""

LARGEST = 2**53
"""Larger amounts are mistakes."""


class Net(BaseModel):
    """Charges for the bandwidth that a machine lacks after the placement, measured against the fastest link.

    ``linkBandwidth``: bits per second of the fastest link, a whole number from 1 to 2**53.
    """

    name = "net"
    kind = "policy"
    needs = Needs(labels=(LABEL,), residents=True)

    def __init__(self, linkBandwidth: int = LINK) -> None:  # noqa: N803 - the name in the configuration
        whole = isinstance(linkBandwidth, int) and not isinstance(linkBandwidth, bool)
        if not whole or not 1 <= linkBandwidth <= LARGEST:
            raise ModelArgumentError(
                f"net: linkBandwidth is {linkBandwidth!r}; it must be a whole number from 1 to 2**53"
            )
        self._link = linkBandwidth
        self.range = Range(best=0, worst=linkBandwidth)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return req - avail + linkBandwidth, cut off at 0 and linkBandwidth, and one joint row per machine."""
        column = machines.column(BANDWIDTH)
        asked, notes = _read_requests(shapes.requests, shapes.rows, column)
        links, more_notes = _links(machines, column)
        left = links.get_remaining()
        raw = np.clip(asked[:, None] - left[None, :] + self._link, 0, self._link).astype(np.float64)
        joint = links.joint(asked) if asked.any() else ()
        return Assessment(
            raw=raw,
            joint=joint,
            growth=np.full(machines.count, shapes.mean(asked)),
            notes=(*notes, *more_notes),
        )

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
        """Return the request of the resource: what each further task takes. Labels count in ``assess``."""
        column = machines.column(BANDWIDTH)
        return np.full(machines.count, 0.0 if column is None else float(request[column]))


def _read_requests(requests: Int64, rows: Sequence[ShapeRow], column: int | None) -> tuple[Int64, list[str]]:
    """Return bits per second that one task of each shape asks for, int64[S], and notes on labels that are no
    number.
    """
    asked = np.zeros(len(rows), dtype=np.int64) if column is None else requests[:, column].copy()
    notes = []
    for index, row in enumerate(rows):
        text = row.labels.get(LABEL)
        if text is None:
            continue
        amount = _whole(text)
        if amount is None:
            notes.append(_note(f"pods with label {LABEL}={text!r}", "they count as without the label"))
        else:
            asked[index] = max(int(asked[index]), amount)
    return asked, notes


@dataclass(frozen=True, slots=True)
class _Links:
    """Bits per second of each machine: what it has, ``capacity``, and ``measured`` of that, int64[M], 0 without a
    sample; ``booked``: int64[M], what the tasks there ask for, of each kind ``by_kind``; None: not told by kind.
    """

    capacity: Int64
    booked: Int64
    measured: Int64
    by_kind: Int64 | None

    def get_remaining(self) -> Int64:
        """Return int64[M]: what more tasks may ask for, at least 0."""
        return np.maximum(self.capacity - np.maximum(self.booked, self.measured), 0)

    def joint(self, asked: Int64) -> tuple[JointRows, ...]:
        """Return rows of the machines for tasks that take ``asked`` (int64[S]) beside booked and measured bandwidth.
        Booked bandwidth comes back when tasks leave; of measured bandwidth, nobody knows how much does.
        """
        every = np.arange(len(self.capacity), dtype=np.int64)
        room = self.capacity - self.booked
        returned = None if self.by_kind is None else Returned(np.maximum(-room, 0), by_kind=self.by_kind)
        rows = [JointRows(every, asked, np.maximum(room, 0), REASON, returned)]
        sampled = self.measured > 0
        if sampled.any():
            beside = np.maximum(self.capacity - self.measured, 0)
            rows.append(JointRows(np.where(sampled, every, -1), asked, beside, REASON))
        return tuple(rows)


def _links(machines: MachineColumns, column: int | None) -> tuple[_Links, list[str]]:
    """Return bandwidth of all machines, and notes on bad annotations."""
    none = np.zeros(machines.count, dtype=np.int64)
    capacity = none.copy() if column is None else machines.capacity[:, column].copy()
    booked = none if column is None else capacity - machines.free[:, column]
    notes = []
    for index, given in enumerate(machines.annotations):
        text = given.get(ANNOTATION)
        if text is None or capacity[index] > 0:
            continue
        amount = _whole(text)
        if amount is None:
            name = machines.names[index]
            notes.append(_note(f"node {name}: annotation {ANNOTATION}={text!r}", "it counts as absent"))
        else:
            capacity[index] = amount
    by_kind = None
    residents = machines.residents
    if residents is not None:
        # Faults are dropped here: they were reported while these tasks waited.
        by_kind, _ = _read_requests(residents.requests, residents.kinds, column)
        asked = residents.sum_by_machine(by_kind.astype(np.float64), machines.count)
        # ``asked`` already contains ``booked``, as a task asks for at least its request: the larger counts, not the
        # sum.
        booked = np.maximum(booked, np.ceil(asked).astype(np.int64))
    measured = none
    if column is not None:
        measured = np.ceil(np.nan_to_num(machines.usage[:, column], nan=0.0)).astype(np.int64)
    return _Links(capacity, booked, measured, by_kind), notes


def _whole(text: str) -> int | None:
    """Return the number if the text is one: digits alone, at most 2**53."""
    if not text.isascii() or not text.isdecimal() or len(text) > len(str(LARGEST)):
        return None
    number = int(text)
    return number if number <= LARGEST else None


def _note(where: str, consequence: str) -> str:
    return f"net: {where}: not a whole number of bits per second from 0 to 2**53; {consequence}"
