"""Finds places for a few tasks that prefer to be apart from other tasks of their group.

If nothing but these tasks and their group changes, the best places of the tasks of one class can be computed exactly
(`best_counts`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Int64
from firmament.core.constraints.default_spread import SpreadTerms
from firmament.core.few_tasks.first_costs import CLOSED
from firmament.core.search.moves.spread_classes import Places, best_counts, worth_a_look
from firmament.solvers.base import Int32


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The running tasks of a group, and what they add to the cost of places near them.

    ``on_machine``: int64[M], tasks per machine; ``in_domain``: int64[D], tasks per domain; ``domain``: int64[M];
    ``machine_step``, ``domain_step``: cost units that each task adds for the next one on its machine and in its domain.
    """

    on_machine: Int64
    in_domain: Int64
    domain: Int64
    machine_step: float
    domain_step: float

    @classmethod
    def from_terms(cls, terms: SpreadTerms, group: int) -> Neighbours:
        """Return the tasks of a group that ran before the round."""
        on_machine = terms.count_near(group, np.empty(0, dtype=np.int64))
        in_domain = np.bincount(terms.domain, weights=on_machine, minlength=terms.domains).astype(np.int64)
        steps = float(terms.machine_step[group]), float(terms.domain_step[group])
        return cls(on_machine, in_domain, terms.domain, *steps)

    def compute_nearby_cost(self, machines: Int64, counts: Int64) -> float:
        """Return what ``counts[i]`` more tasks on ``machines[i]`` (each once) cost for being near others, in units."""
        before = self.on_machine[machines]
        more = np.bincount(self.domain[machines], weights=counts, minlength=len(self.in_domain))
        near = self.machine_step * (counts * before + counts * (counts - 1) / 2).sum()
        return float(near + self.domain_step * (more * self.in_domain + more * (more - 1) / 2).sum())


def find_best_place(units: Int32, near: Neighbours) -> int | None:
    """Return the machine on which one task costs least, or None if the task fits nowhere.

    ``units``: int32[M], cost on each machine, `CLOSED` where the task does not fit. Among equally cheap machines, the
    result is the one that ``best_counts`` finds.
    """
    charged = units + near.machine_step * near.on_machine
    total = charged + near.domain_step * near.in_domain[near.domain]
    tied = np.flatnonzero(total == total.min())
    if len(tied) > 1:
        tied = tied[np.lexsort((tied, charged[tied], near.domain[tied]))]
    best = int(tied[0])
    return best if units[best] < CLOSED else None


def find_best_places(
    units: Int32, tasks: int, near: Neighbours, describe: Callable[[Int64], tuple[Int64, Int64]]
) -> tuple[Int64, Int64] | None:
    """Return machines on which ``tasks`` tasks cost least in total, and how many go to each; None if not all fit.

    ``describe`` takes machines (rows, ascending) and returns by how much each task raises the cost of the next one
    there, and how many tasks fit.
    """
    rows = np.flatnonzero(units < CLOSED)
    none = np.zeros(len(rows), dtype=np.int64)
    places = Places(
        charge=units[rows].astype(np.float64),
        growth=np.zeros(len(rows)),
        crowd=none,
        room=none,
        near=near.on_machine[rows],
        domain=near.domain[rows],
        crowd_step=1,
    )
    chosen = worth_a_look(places, tasks, len(near.in_domain), near.machine_step)
    growth, room = describe(rows[chosen])
    places = replace(places.select(chosen), growth=growth.astype(np.float64), room=room)
    counts = best_counts(places, tasks, near.in_domain, near.machine_step, near.domain_step)
    if counts is None:
        return None
    used = np.flatnonzero(counts)
    return rows[chosen[used]], counts[used]
