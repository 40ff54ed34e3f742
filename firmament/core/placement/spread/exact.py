"""The best places for all tasks of one class whose group would rather be apart, everything else being given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Float64, Int64

FEW_DOMAINS = 16
"""Domains up to which each is looked at by itself, to leave out places that are too dear."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where tasks may go, a row each: int64[K], float64[K].

    ``charge``: of a task by itself; ``growth``: what each task of the round there adds for the next, of which there are
    ``crowd`` now; ``crowd_step``: growth comes in steps of so many. ``room``: for so many tasks. ``near``: tasks of the
    group there; ``domain``: number of the domain.
    """

    charge: Float64
    growth: Float64
    crowd: Int64
    crowd_step: int
    room: Int64
    near: Int64
    domain: Int64

    def at(self, rows: Int64) -> Places:
        """Some of them."""
        return Places(
            self.charge[rows],
            self.growth[rows],
            self.crowd[rows],
            self.crowd_step,
            self.room[rows],
            self.near[rows],
            self.domain[rows],
        )


def best_counts(
    places: Places, tasks: int, in_domain: Int64, machine_step: float, domain_step: float
) -> Int64 | None:
    """How many of ``tasks`` go to each place, so that they cost least together; int64[K]. None: there is no room.

    ``in_domain``: int64[D], tasks of the group in each domain without these. Exact: costs per place are convex, and so
    are those of a domain in its tasks, so the cheapest steps are the best ones.
    """
    if int(np.minimum(places.room, tasks).sum()) < tasks:
        return None
    near = _worth_a_look(places, tasks, len(in_domain), machine_step)
    few = places.at(near)
    depth = 2 + 2 * tasks // max(1, len(near))
    while True:
        depth = min(depth, tasks)
        counts = _cheapest(few, tasks, in_domain, machine_step, domain_step, depth)
        if counts is not None and (depth == tasks or not (counts == depth).any()):
            break
        depth *= 4
    found = np.zeros(len(places.room), dtype=np.int64)
    found[near] = counts
    return found


def _worth_a_look(places: Places, tasks: int, domains: int, machine_step: float) -> Int64:
    """Rows, ascending, on which a first task costs no more than on the ``tasks``-th cheapest of their domain.

    No other can be the best for any of them. All of them if there are many domains, or hardly more places than tasks.
    """
    if domains > FEW_DOMAINS or len(places.room) < 2 * tasks:
        return np.arange(len(places.room))
    first = places.charge + places.growth * (places.crowd // places.crowd_step * places.crowd_step)
    first += machine_step * places.near
    near = np.ones(len(first), dtype=np.bool_)
    for domain in range(domains):
        rows = np.flatnonzero(places.domain == domain)
        if len(rows) > tasks:
            costs = first[rows]
            near[rows] = costs <= np.partition(costs, tasks - 1)[tasks - 1]
    return np.flatnonzero(near)


def _cheapest(
    places: Places, tasks: int, in_domain: Int64, machine_step: float, domain_step: float, depth: int
) -> Int64 | None:
    """The same with at most ``depth`` tasks on each place; None if these do not take all."""
    step = np.arange(depth)
    open_to = step < places.room[:, None]
    if np.count_nonzero(open_to) < tasks:
        return None
    crowd = (places.crowd[:, None] + step) // places.crowd_step * places.crowd_step
    cost = places.charge[:, None] + places.growth[:, None] * crowd
    cost += machine_step * (places.near[:, None] + step)
    place = np.broadcast_to(np.arange(len(places.room))[:, None], cost.shape)[open_to]
    charged, domain = cost[open_to], places.domain[place]
    order = np.lexsort((charged, domain))
    ordered = domain[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.r_[first, len(order)]))
    total = charged[order] + domain_step * (in_domain[ordered] + rank)
    taken = place[order[np.argsort(total, kind="stable")[:tasks]]]
    return np.bincount(taken, minlength=len(places.room)).astype(np.int64)
