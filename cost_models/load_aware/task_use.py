"""What single tasks on machines are taken to use: their estimates, their reported use, and which of the two counts.

Koordinator's rule. With U the time of a machine's report, I the interval of reports, e the estimate of a task and u
its reported use (or none): a task's estimate counts where it exceeds u, if

    there is no u,  or  U - I < the time when it got the machine,  or  the estimate is to count until after U.

Of tasks of class koord-prod that the report does not take for such, u counts as none in the view of prod tasks.
Pods that stand for a reservation do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cost_models.interface import Assigned, Bool, Float64, Int64, Load, MachineColumns
from cost_models.load_aware.annotations import stands_for_reservation
from cost_models.load_aware.arguments import Settings
from cost_models.load_aware.estimates import Estimates, estimates

DEFAULT_INTERVAL = 60.0
"""Seconds between reports of a source that does not say."""

Places: TypeAlias = Int64 | slice
"""Places in ``Load.assigned``."""

ALL = slice(None)


@dataclass(frozen=True, slots=True)
class RunningTasks:
    """The tasks on machines. ``expected``: float64[R, P], estimates by kind; ``prod``: bool[P], kinds of class
    koord-prod; ``columns``: of the R resources of ``Settings.known`` in ``Assigned.usage``. ``estimated``: bool[A], the
    estimate counts beside what is reported.

    Amounts are whole numbers in floating point, and sums of them exact below 2**53.
    """

    assigned: Assigned
    expected: Float64
    prod: Bool
    columns: tuple[int | None, ...]
    estimated: Bool

    @classmethod
    def of(cls, machines: MachineColumns, load: Load, settings: Settings) -> RunningTasks:
        """The tasks on ``machines``."""
        assigned = load.assigned
        kinds = estimates(assigned.kinds, assigned.requests, machines.resources, settings)
        counted = np.array([not stands_for_reservation(row) for row in assigned.kinds], dtype=np.bool_)
        return cls(
            assigned=assigned,
            expected=kinds.amounts.T.astype(np.float64) * counted,
            prod=kinds.prod & counted,
            columns=tuple(machines.column(name) for name in settings.known),
            estimated=~assigned.reported | _estimate_counts(machines, load, kinds),
        )

    def alone(self, position: int, places: Places) -> Float64:
        """Estimates of one resource: float64[N]."""
        return self.expected[position][self.assigned.kind[places]]

    def used(self, position: int, places: Places) -> Float64:
        """Reported use of one resource, 0 for none: float64[N]."""
        column = self.columns[position]
        if column is None:
            return np.zeros(len(self.assigned.machine[places]))
        return np.ceil(self.assigned.usage[places, column])

    def beyond(self, position: int, places: Places) -> Float64:
        """By how much estimates exceed what is reported, where they count beside it: float64[N]."""
        excess = np.maximum(self.alone(position, places) - self.used(position, places), 0.0)
        return excess * self.estimated[places]

    def prod_alone(self, position: int, places: Places) -> Float64:
        """Estimates of prod tasks, 0 of others: float64[N]."""
        return self.alone(position, places) * self.prod[self.assigned.kind[places]]

    def prod_use(self, position: int, places: Places) -> Float64:
        """What prod tasks are taken to use, 0 of others: float64[N]."""
        figures = self.used(position, places) + self.beyond(position, places)
        view = np.where(self.active(places), figures, self.alone(position, places))
        return view * self.prod[self.assigned.kind[places]]

    def active(self, places: Places) -> Bool:
        """bool[N]: prod tasks that the report takes for such."""
        assigned = self.assigned
        active: Bool = self.prod[assigned.kind[places]] & assigned.reported[places] & assigned.prod[places]
        return active

    def summed(self, amounts: Float64, places: Places, machines: int) -> Int64:
        """Sum of ``amounts`` (float64[N]) per machine: int64[machines]."""
        there = self.assigned.machine[places]
        return np.bincount(there, weights=amounts, minlength=machines).astype(np.int64)


def _estimate_counts(machines: MachineColumns, load: Load, kinds: Estimates) -> Bool:
    """bool[A]: the estimate of a task counts beside reported use, since that may be older, or too early to tell."""
    assigned = load.assigned
    interval = np.where(load.interval > 0, load.interval, DEFAULT_INTERVAL)
    shows_until = machines.usage_time - interval
    counts: Bool = ~(shows_until.take(assigned.machine) >= assigned.time)  # also where the time is not known
    lasting = (kinds.after_scheduled > 0) | (kinds.after_initialized > 0)
    if lasting.any():
        places = np.flatnonzero(lasting.take(assigned.kind))
        counts[places] |= _deadline(assigned, kinds, places) > machines.usage_time[assigned.machine[places]]
    return counts


def _deadline(assigned: Assigned, kinds: Estimates, places: Int64) -> Float64:
    """float64[N]: until when estimates of tasks count, minus infinity for no such time, NaN where it is not known."""
    kind, time, initialized = assigned.kind[places], assigned.time[places], assigned.initialized[places]
    after_scheduled, after_initialized = kinds.after_scheduled[kind], kinds.after_initialized[kind]
    deadline = np.where(after_scheduled > 0, time + after_scheduled, -np.inf)
    known = (after_initialized > 0) & ~np.isnan(initialized)
    return np.where(known, initialized + after_initialized, deadline)
