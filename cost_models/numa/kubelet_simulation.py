"""Simulates the kubelet's Topology Manager on many machines at once: the room in their zones, and how tasks take it.

Under single-numa-node, a container (in pod scope: the pod) gets the lowest zone that has room for all of it, even if
another zone would be better. If a container gets no zone, the pod is not admitted. Containers get zones in the order
of the pods, and in their order in the pod; the kubelet tries no other order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Int64
from cost_models.numa.records import POLICIES
from cost_models.numa.requests import Requests
from cost_models.numa.single_zone_alignment import (
    ADMITTED,
    UNLIMITED,
    UNLISTED,
    admit,
    slots_at,
    slots_everywhere,
)
from cost_models.numa.zone_sets import choose_sets, spread_over

SIMULATED = 16
"""How many tasks are tried one after another, at most, where no formula says how many fit a machine."""

SINGLE = POLICIES.index("single-numa-node")
RESTRICTED = POLICIES.index("restricted")


@dataclass(slots=True)
class ZoneRoom:
    """The amounts left in M machines' zones, for tasks of S shapes.

    ``policy``: int8[M], index into ``POLICIES``, 0 for machines that do not align tasks; ``total``: int64[R, M, Z],
    what a zone has when it is empty; ``left``: int64[R, M, Z], what the zone has left, or ``UNLISTED`` or
    ``UNLIMITED``; this field alone changes.
    """

    requests: Requests
    policy: NDArray[np.int8]
    pod_scope: Bool
    total: Int64
    left: Int64

    def copy(self) -> ZoneRoom:
        """Return a copy; bookings in the copy do not change this object."""
        return ZoneRoom(self.requests, self.policy, self.pod_scope, self.total, self.left.copy())

    def policies(self, shapes: Int64, machines: Int64) -> NDArray[np.int8]:
        """Return the policy of ``machines[i]`` for ``shapes[i]``, int8[A]: its own, or a stricter one that the task
        requests.
        """
        effective = np.maximum(self.policy[machines], self.requests.hint[shapes])
        return np.where(self.requests.checked[shapes], effective, np.int8(0)).astype(np.int8)

    # --- how many tasks fit -----------------------------------------------------------------------

    def count_room(self, shapes: Int64, machines: Int64) -> Int64:
        """Return how many more tasks of ``shapes[i]`` fit on ``machines[i]`` if no others are placed: int64[A].

        Exact up to ``SIMULATED``; larger results may be too low where a pod's containers are aligned one by one.
        """
        room = np.full(len(shapes), UNLIMITED)
        policy = self.policies(shapes, machines)
        simple = self._one_unit(shapes, machines) & (policy == SINGLE)
        where = np.flatnonzero(simple)
        if len(where):
            room[where] = self._slots(shapes[where], machines[where]).sum(axis=1)
        where = np.flatnonzero(~simple & (policy >= RESTRICTED))
        if len(where):
            limit = np.full(len(where), SIMULATED)
            room[where] = self._admit(shapes[where], machines[where], limit, book=False)
        return np.minimum(room, UNLIMITED)

    def room_of(self, shape: int) -> Int64:
        """Return how many more tasks of a shape fit each machine, but at most 1 where a pod's containers are aligned
        one by one.
        """
        machines = np.arange(len(self.policy))
        shapes = np.full(len(machines), shape)
        policy = self.policies(shapes, machines)
        simple = self._one_unit(shapes, machines) & (policy == SINGLE)
        room = self._simple_room(shape, simple)
        where = np.flatnonzero(~simple & (policy >= RESTRICTED))
        if len(where):
            room[where] = self._admit(shapes[where], where, np.ones(len(where), dtype=np.int64), book=False)
        return room

    def try_one_task(self, shape: int) -> tuple[Int64, Bool]:
        """Try one task of a shape on each machine; return which unit found no zone, int64[M], and the zones taken,
        bool[M, Z].

        The index of the unit is -1 where the task is admitted. Unit 0 is the pod as a whole; init containers are
        numbered after the other units.
        """
        machines = np.arange(len(self.policy))
        return self._try(self.left.copy(), np.full(len(machines), shape), machines)

    def find_failing_unit(self, shape: int) -> Int64:
        """Return only the first result of ``try_one_task``, which is faster."""
        machines = np.arange(len(self.policy))
        shapes = np.full(len(machines), shape)
        policy = self.policies(shapes, machines)
        single, one = policy == SINGLE, self._one_unit(shapes, machines)
        lacks = self._simple_room(shape, single & one) <= 0
        failing = np.where(lacks, self._choose_aligned_unit(shapes, machines), np.int64(-1))
        apart = np.flatnonzero(single & ~one)
        if len(apart):
            alignment = self.requests.alignment(shapes[apart])
            _, failed = admit(self.left.take(apart, axis=1), alignment, np.ones(len(apart), dtype=np.int64))
            containers, units = len(alignment.threshold), self.requests.threshold.shape[1]
            within = np.where(failed < containers, failed + 1, failed - containers + units)
            failing[apart] = np.where(failed == ADMITTED, -1, within)
        other = np.flatnonzero((policy > 0) & ~single)
        if len(other):
            failing[other], _ = self._try(self.left[:, other], shapes[other], other)
        return failing

    # --- booking -------------------------------------------------------------------------------------------------

    def book(self, shapes: Int64, machines: Int64, counts: Int64) -> Int64:
        """Book up to ``counts[i]`` tasks of ``shapes[i]`` on ``machines[i]``, entry by entry; return how many:
        int64[A].
        """
        taken = counts.copy()
        relevant = np.flatnonzero((self.policies(shapes, machines) > 0) & (counts > 0))
        turn = _turns(machines[relevant])
        for number in range(int(turn.max(initial=-1)) + 1):
            entries = relevant[turn == number]
            taken[entries] = self._take_distinct(shapes[entries], machines[entries], counts[entries])
        return taken

    def _take_distinct(self, shapes: Int64, machines: Int64, counts: Int64) -> Int64:
        """Book as ``book`` does, if no machine occurs twice."""
        taken = np.zeros(len(shapes), dtype=np.int64)
        simple = self._one_unit(shapes, machines) & (self.policies(shapes, machines) == SINGLE)
        where = np.flatnonzero(simple)
        if len(where):
            slots = self._slots(shapes[where], machines[where])
            before = np.cumsum(slots, axis=1) - slots
            per_zone = np.clip(counts[where][:, None] - before, 0, slots)
            unit = self._choose_aligned_unit(shapes[where], machines[where])
            each = self.requests.taken[shapes[where], unit].T
            self.left[:, machines[where]] -= each[:, :, None] * per_zone
            taken[where] = per_zone.sum(axis=1)
        where = np.flatnonzero(~simple)
        if len(where):
            taken[where] = self._admit(shapes[where], machines[where], counts[where], book=True)
        return taken

    # --- one unit under single-numa-node: by division --------------------------------------------------------------

    def _one_unit(self, shapes: Int64, machines: Int64) -> Bool:
        """Return whether a task is aligned as one unit, and its init containers need no more than that unit:
        bool[A].
        """
        requests = self.requests
        return self.pod_scope[machines] | ((requests.apps[shapes] == 1) & requests.init_implied[shapes])

    def _choose_aligned_unit(self, shapes: Int64, machines: Int64) -> Int64:
        """Return which unit is aligned, for tasks that are aligned as one unit: int64[A]."""
        return np.where(self.pod_scope[machines], 0, np.minimum(1, self.requests.apps[shapes]))

    def _slots(self, shapes: Int64, machines: Int64) -> Int64:
        """Return how many tasks fit each zone, if each task is aligned as one unit: int64[A, Z]."""
        unit = self._choose_aligned_unit(shapes, machines)
        threshold, taken = self.requests.threshold[shapes, unit], self.requests.taken[shapes, unit]
        return slots_at(self.left, machines, threshold, taken)

    def _simple_room(self, shape: int, simple: Bool) -> Int64:
        """Return how many tasks of a shape fit the machines that are ``simple``; `UNLIMITED` for others: int64[M]."""
        room = np.full(len(self.policy), UNLIMITED)
        for unit, members in ((0, self.pod_scope), (1, ~self.pod_scope)):
            where = simple & members
            if where.any():
                aligned = min(unit, int(self.requests.apps[shape]))
                threshold, taken = (
                    self.requests.threshold[shape, aligned],
                    self.requests.taken[shape, aligned],
                )
                np.copyto(room, slots_everywhere(self.left, threshold, taken).sum(axis=1), where=where)
        return room

    # --- anything else: task by task -----------------------------------------------------------------------------

    def _admit(self, shapes: Int64, machines: Int64, limit: Int64, *, book: bool) -> Int64:
        """Admit up to ``limit[i]`` tasks of ``shapes[i]`` to ``machines[i]``; return how many: int64[A].

        With ``book``, the admitted tasks are also booked; then no machine may occur twice.
        """
        admitted = np.zeros(len(shapes), dtype=np.int64)
        apart = (self.policies(shapes, machines) == SINGLE) & ~self.pod_scope[machines]
        where = np.flatnonzero(apart)
        if len(where):
            local = self.left.take(machines[where], axis=1)
            admitted[where], _ = admit(local, self.requests.alignment(shapes[where]), limit[where])
            if book:
                self.left[:, machines[where]] = local
        where = np.flatnonzero(~apart)
        if len(where):
            local = self.left[:, machines[where]]
            admitted[where] = self._admit_variously(local, shapes[where], machines[where], limit[where])
            if book:
                self.left[:, machines[where]] = local
        return admitted

    def _admit_variously(self, local: Int64, shapes: Int64, machines: Int64, limit: Int64) -> Int64:
        """Admit as ``_admit`` does, under any policy and scope, and book in ``local`` (int64[R, A, Z])."""
        admitted = np.zeros(len(shapes), dtype=np.int64)
        live = np.flatnonzero(limit > 0)
        while len(live):
            trial = local[:, live]
            failed, _ = self._try(trial, shapes[live], machines[live])
            fits = failed < 0
            live = live[fits]
            local[:, live] = trial[:, fits]
            admitted[live] += 1
            live = live[admitted[live] < limit[live]]
        return admitted

    def _try(self, trial: Int64, shapes: Int64, machines: Int64) -> tuple[Int64, Bool]:
        """Admit one task to each machine's zones in ``trial``; return what ``try_one_task`` returns.

        A refused task leaves a part booked.
        """
        requests = self.requests
        policy = self.policies(shapes, machines)
        whole = self.pod_scope[machines]
        failed = np.full(len(shapes), -1, dtype=np.int64)
        used = np.zeros(trial.shape[1:], dtype=np.bool_)
        units = requests.threshold.shape[1]
        for index in range(requests.init_threshold.shape[1]):
            where = np.flatnonzero(~whole & (failed < 0) & (policy > 0))
            threshold = requests.init_threshold[shapes[where], index].T
            nothing = np.zeros_like(threshold)
            refused = self._give(trial, used.copy(), where, threshold, nothing, machines, policy)
            failed[refused] = units + index
        for unit in range(units):
            due = whole if unit == 0 else ~whole & (requests.apps[shapes] >= unit)
            where = np.flatnonzero(due & (failed < 0) & (policy > 0))
            if len(where):
                threshold = requests.threshold[shapes[where], unit].T
                taken = requests.taken[shapes[where], unit].T
                failed[self._give(trial, used, where, threshold, taken, machines, policy)] = unit
        return failed, used

    def _give(
        self,
        trial: Int64,
        used: Bool,
        where: Int64,
        threshold: Int64,
        taken: Int64,
        machines: Int64,
        policy: NDArray[np.int8],
    ) -> Int64:
        """Book a unit's zones in ``trial``, and mark them in ``used``; return the entries of ``where`` that are
        refused.

        ``threshold``, ``taken``: int64[R, len(where)]; ``machines``, ``policy``: one entry for each of ``trial``.
        """
        single = policy[where] == SINGLE
        refused = []
        if not single.all():
            rows, need = where[~single], threshold[:, ~single]
            left, aligned_only = trial[:, rows], policy[rows] == RESTRICTED
            wanted = np.where(left.max(axis=2) >= UNLIMITED // 2, 0, np.maximum(need, 0))
            total = self.total[:, machines[rows]]
            admitted, zones = choose_sets(np.maximum(left, 0), wanted, total, aligned_only=aligned_only)
            listed = ((left > UNLISTED).any(axis=2) | (need < 0)).all(axis=0)
            takes: Bool = np.any(taken[:, ~single], axis=0)
            trial[:, rows] -= np.where(takes[None, :, None], spread_over(left, wanted, zones), 0)
            used[rows] |= zones
            refused.append(rows[~(admitted & (listed | ~aligned_only))])
            where, threshold, taken = where[single], threshold[:, single], taken[:, single]
        fits: Bool = np.ones((len(where), trial.shape[2]), dtype=np.bool_)
        everyone = len(where) == trial.shape[1]
        asked = np.flatnonzero((threshold >= 0).any(axis=1)).tolist()
        for row in asked:
            left = trial[row] if everyone else trial[row, where]
            fits &= left >= threshold[row][:, None]
        found: Bool = np.any(fits, axis=1)
        zone = fits.argmax(axis=1)
        for row in asked:
            trial[row, where, zone] -= np.where(found, taken[row], 0)
        used[where, zone] |= found & (threshold >= 0).any(axis=0)
        return np.concatenate([*refused, where[~found]])


def _turns(machines: Int64) -> Int64:
    """Return how many earlier entries name the same machine: int64[A]."""
    order = np.argsort(machines, kind="stable")
    ordered = machines[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else ordered
    turn = np.empty(len(machines), dtype=np.int64)
    turn[order] = np.arange(len(machines)) - np.repeat(first, np.diff(np.r_[first, len(machines)]))
    return turn
