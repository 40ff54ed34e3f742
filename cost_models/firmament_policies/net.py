"""Places tasks on machines with much free network bandwidth, and never exceeds the bandwidth of a machine.

Source: Firmament's NET cost model. A class of tasks with bandwidth request ``req`` has up to ten slots on a machine.
The i-th slot (i = 1, 2, ...) exists only if i x req <= avail, and costs

    i x req - avail + 1,280,000        avail = the machine's bandwidth - what is measured to be used

1,280,000 being what the fastest machine offers (10 Gbit/s in KiB/s). In this model all figures are in bits per
second, and the argument ``linkBandwidth`` takes the place of that constant. Mended or replaced:

* in the original, the sum over classes was not bounded: every class had slots of its own, and together they
  overfilled a machine. In this model, a joint row per machine bounds what all tasks of a round take to ``avail``;
* in the original, tasks that were placed but not measured yet used nothing, so that round after round gave the same
  bandwidth away. In this model, ``avail`` is the bandwidth less what is measured or what the tasks on the machine
  request, whichever is more;
* in the original, at most ten tasks of a class came to a machine in a round, a limit that came from its encoding;
* less important tasks may be evicted for more important ones: what they request becomes free; measured use does not,
  as nobody knows which task uses it;
* costs are never negative: a machine with more than ``linkBandwidth`` free costs as much as one with exactly that.
  The whole bandwidth of such a machine may still be used;
* leaving a task unscheduled costs what the scheduler itself charges, above any placement, instead of 2,560,000.

Input. A task requests the resource ``network.aware.com/bandwidth`` or has the pod label ``networkRequirement``; the
larger counts. A machine's bandwidth is what it offers of that resource, or else its annotation
``firmament.io/network-bandwidth``. A machine with neither has none, and only tasks that request no bandwidth run
there. Measured use is the sample of the same resource. All are whole numbers of bits per second; any other value is
noted, and counts as absent.
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
"""Bandwidth of the fastest link in the original, 10 Gbit/s."""

LARGEST = 2**53
"""Amount above which a label or annotation counts as a mistake."""


class Net(BaseModel):
    """Charges for the difference between the fastest link and the bandwidth that stays free on the machine.

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
        """Return req - avail + linkBandwidth, limited to 0 ... linkBandwidth, and one joint row of
        bandwidth per machine.
        """
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
        """Return the requested bandwidth, by which each task raises the cost of the next one. ``assess`` adds what
        labels ask for.
        """
        column = machines.column(BANDWIDTH)
        return np.full(machines.count, 0.0 if column is None else float(request[column]))


def _read_requests(requests: Int64, rows: Sequence[ShapeRow], column: int | None) -> tuple[Int64, list[str]]:
    """Return how many bits per second a task of each shape asks for, int64[S], and notes on labels that are no
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
    """The bandwidth of M machines, in bits per second.

    ``capacity``: int64[M]; ``measured``: int64[M], measured use, 0 without a sample; ``booked``: int64[M], what the
    tasks on the machine request; ``by_kind``: the same by kind of task, None if the kinds of tasks are not known.
    """

    capacity: Int64
    booked: Int64
    measured: Int64
    by_kind: Int64 | None

    def get_remaining(self) -> Int64:
        """Return how much bandwidth further tasks may ask for, at least 0: int64[M]."""
        return np.maximum(self.capacity - np.maximum(self.booked, self.measured), 0)

    def joint(self, asked: Int64) -> tuple[JointRows, ...]:
        """Return one joint row per machine: waiting tasks take ``asked`` (int64[S]) of what is neither booked nor
        measured.

        When a task leaves, what it had booked becomes free; measured use does not become free, as nobody knows which
        task uses it.
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
    """Return the bandwidth of all machines, and notes on bad annotations."""
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
        # These faults give no notes: they were noted while the tasks waited.
        by_kind, _ = _read_requests(residents.requests, residents.kinds, column)
        asked = residents.sum_by_machine(by_kind.astype(np.float64), machines.count)
        # Take the larger amount, not the sum: ``asked`` contains ``booked``, as a task requests at least what it
        # books.
        booked = np.maximum(booked, np.ceil(asked).astype(np.int64))
    measured = none
    if column is not None:
        measured = np.ceil(np.nan_to_num(machines.usage[:, column], nan=0.0)).astype(np.int64)
    return _Links(capacity, booked, measured, by_kind), notes


def _whole(text: str) -> int | None:
    """Return the number that the text states in digits, at most 2**53; None for any other text."""
    if not text.isascii() or not text.isdecimal() or len(text) > len(str(LARGEST)):
        return None
    number = int(text)
    return number if number <= LARGEST else None


def _note(where: str, consequence: str) -> str:
    return f"net: {where}: not a whole number of bits per second from 0 to 2**53; {consequence}"
