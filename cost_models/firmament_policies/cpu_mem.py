"""The default policy: least requested cpu and memory, balanced between the two.

Source: Firmament's CPU_MEM cost model, whose i-th slot on a machine costs

    L + B + (1000 - NA) + (1000 - PA) + T + V

with L = (floor(1000 fc) + floor(1000 fr)) / 2, fc and fr the fractions of cpu and memory that are taken, and B =
floor(1000 var(fc, fr)), the population variance of the two. Changes:

* the task's own request counts in fc and fr (the original charged slot i only for the i tasks before it), so an empty
  machine is not equally good for a small and a large task;
* a task may fill a machine exactly: the scheduler decides with whole numbers whether it fits, not this model;
* tasks of different classes cannot overfill a machine together, because the scheduler's joint rows prevent it;
* without preferences of the task, the terms for preferences have constant values (NA and PA: 0, so that each term is
  1000; T, V: 0). The overlay ``kubernetes`` charges for preferences instead, and does not normalise them across
  rounds.

Tasks without requests count with the amounts that kube-scheduler assumes when it scores nodes
(``ShapeBatch.demand``). Without this assumption, hundreds of such tasks would cost nothing, and share one machine.

A fraction is a part of what the machine offers to tasks (allocatable). The argument ``availability`` says what counts
as taken. With ``auto``, the measured use counts as taken on machines with a fresh report, and the sum of requests on
other machines (see ``compute_taken``); the original had one flag for all machines. Whether a task fits is decided by
requests alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cost_models.arguments import Arguments
from cost_models.interface import (
    Assessment,
    BaseModel,
    Float64,
    Int64,
    MachineColumns,
    Needs,
    Promises,
    Range,
    ShapeBatch,
)

Availability: TypeAlias = Literal["auto", "utilisation", "reservation"]
AVAILABILITIES: tuple[Availability, ...] = ("auto", "utilisation", "reservation")

EXPIRATION_SECONDS = 180.0
"""Age of a report, in seconds, from which it does not count."""

EARLY = 1e-3
"""``find_expiry`` subtracts these seconds: far more than the rounding of times can amount to."""

NEUTRAL_PREFERENCES = 2000
"""(1000 - NA) + (1000 - PA) of a task without preferences."""

TWICE_NEUTRAL = 2 * NEUTRAL_PREFERENCES

LARGEST_L = 1000
LARGEST_B = 250
"""Variance of two fractions in 0..1 is at most a quarter."""


IN_CACHE = 2**16
"""How many figures are computed at a time: few enough that they and their inputs stay in a core's own cache."""

KEPT_AMOUNTS = 256
"""How many rows of taken shares, one per requested amount, are kept at a time, which limits the memory they take."""


class CpuMem(BaseModel):
    """Charges for the shares of cpu and memory that are taken once the task is on the machine, and for
    their imbalance.
    """

    name = "cpu_mem"
    kind = "policy"
    range = Range(best=NEUTRAL_PREFERENCES, worst=NEUTRAL_PREFERENCES + LARGEST_L + LARGEST_B)
    promises = Promises(per_machine=True, expires=True)

    def __init__(self, **args: Any) -> None:
        read = Arguments(self.name, args)
        self._availability = read.choice("availability", AVAILABILITIES)
        self._expiration = read.number("expirationSeconds", EXPIRATION_SECONDS, least=1)
        read.finish()
        self.needs = Needs(unseen=self._availability != "reservation")

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return the cost of one more task of each shape on each machine: int16[S, M].

        Computes a few rows at a time, so that intermediate arrays stay in the processor's cache, and stores 16 bits per
        figure where whole numbers suffice. The divisions give the exact whole number: a quotient of two integers below
        2**53 that is a whole number is never rounded below it, and floor(floor(x) / 250) is floor(x / 250).
        """
        needs = shapes.demand
        cpus = self._compute_taken_after(needs, machines, "cpu")
        after = zip(cpus, self._compute_taken_after(needs, machines, "memory", TWICE_NEUTRAL), strict=True)
        raw = np.empty((shapes.count, machines.count), dtype=np.int16)
        height = max(1, IN_CACHE // max(1, machines.count))
        size = min(height, shapes.count), machines.count
        squares, levels = np.empty(size), np.empty(size, dtype=np.uint16)
        for begin in range(0, shapes.count, height):
            # No figure is negative or above 4095, so signed and unsigned 16 bits hold the same.
            rows = raw[begin : begin + height].view(np.uint16)
            square, level = squares[: len(rows)], levels[: len(rows)]
            for row, ((cpu, whole_cpu), (memory, whole_memory)) in enumerate(islice(after, len(rows))):
                np.subtract(cpu, memory, out=square[row])
                np.add(whole_cpu, whole_memory, out=level[row])
            # 1000 * ((fc - fr) / 2)^2, with both fractions in steps of 1/250, is their squared difference over 250.
            np.multiply(square, square, out=square)
            np.copyto(
                rows, square, casting="unsafe"
            )  # values from 0 to 62,500: the conversion rounds them down
            np.floor_divide(rows, 250, out=rows)
            np.right_shift(level, 1, out=level)
            np.add(rows, level, out=rows)
        return Assessment(raw=raw)

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
        """Return the growth of L per task: 500 x (cpu share + memory share) of the machine.

        The change of B is left out: it may be negative, and is smaller than that of L.
        """
        growth = np.zeros(machines.count)
        for resource in ("cpu", "memory"):
            column = machines.column(resource)
            if column is not None:
                growth += 500.0 * request[column] / np.maximum(machines.capacity[:, column], 1)
        return np.minimum(growth, LARGEST_L)

    def lasts_until(self, machines: MachineColumns) -> Float64:
        """Return when the last report about each machine will have expired; see ``find_expiry``."""
        return find_expiry(machines, self._availability, self._expiration)

    def _compute_taken_after(
        self, needs: Int64, machines: MachineColumns, resource: str, added: int = 0
    ) -> Iterator[tuple[Float64, NDArray[np.uint16]]]:
        """Yield for each row of ``needs`` (int64[S, K]) how many thousandths of a resource are taken on each machine
        once a task with these needs is there, at most 1000: a fourth of the exact figure, float64[M], and the figure
        rounded down plus ``added``.

        A machine without the resource counts as full. Each different amount is computed once, as shapes request few
        different ones.
        """
        column = machines.column(resource)
        if column is None:
            before, offered = np.full(machines.count, 1000.0), np.ones(machines.count)
            amounts = [0] * len(needs)
        else:
            capacity = machines.capacity[:, column]
            used = compute_taken(machines, column, self._availability, self._expiration)
            before = np.where(capacity > 0, 1000.0 * used, 1000.0)
            offered, amounts = np.maximum(capacity, 1).astype(np.float64), needs[:, column].tolist()
        known: dict[int, tuple[Float64, NDArray[np.uint16]]] = {}
        for amount in amounts:
            found = known.get(amount)
            if found is None:
                if len(known) >= KEPT_AMOUNTS:
                    known.clear()
                fractions = before + 1000.0 * amount
                fractions /= offered
                np.minimum(fractions, 1000.0, out=fractions)
                whole = fractions.astype(np.uint16)
                whole += added
                fractions *= 0.25
                found = known[amount] = fractions, whole
            yield found


# --- How much of a machine's resources counts as taken.


def compute_taken(
    machines: MachineColumns, column: int, availability: Availability, expiration: float = EXPIRATION_SECONDS
) -> Float64:
    """Return how much of one resource tasks use or have requested on each machine: float64[M].

    A report does not contain the tasks that came after it. Their requests are added, so that a burst does not overload
    a machine that looks idle until its next report.

    ``availability`` is one of:

    * ``reservation``: the sum of requests; tasks without requests count with what they are assumed to need.
    * ``auto``: on machines whose last report is younger than ``expiration`` seconds, the measured use and the requests
      of tasks that came later; on others as ``reservation``.
    * ``utilisation``: as ``auto``, but a machine without such a report counts as full.
    """
    capacity = machines.capacity[:, column]
    reserved = machines.get_requested(column).astype(np.float64)
    if availability == "reservation":
        return reserved
    measured = machines.usage[:, column]
    age = machines.now - machines.usage_time
    # A comparison with NaN is false, so machines of unknown age are not fresh.
    fresh = ~np.isnan(measured) & (age < expiration)
    if availability == "utilisation":
        reserved = capacity.astype(np.float64)
    if not fresh.any():
        return reserved
    unseen = 0 if machines.unseen is None else machines.unseen[:, column]
    return np.where(fresh, measured + unseen, reserved)


def find_expiry(
    machines: MachineColumns, availability: Availability, expiration: float = EXPIRATION_SECONDS
) -> Float64:
    """Return when ``compute_taken`` may change although the machine does not: float64[M], inf for never."""
    never = np.full(machines.count, np.inf)
    if availability == "reservation":
        return never
    # A comparison with NaN is false, so machines of unknown age are not fresh.
    fresh = machines.now - machines.usage_time < expiration
    if not fresh.any():
        return never
    return np.where(fresh, machines.usage_time + (expiration - EARLY), never)
