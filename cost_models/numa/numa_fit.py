"""NUMA fit: tasks go where the kubelet's Topology Manager will admit them, and where zones suit them best.

Source: the NodeResourceTopologyMatch plugin of kubernetes-sigs/scheduler-plugins: its filter for the policy
single-numa-node in container and pod scope, and its four scores; `room` and `scores` state them. Added:

* **Whole rounds, not one pod at a time.** A ledger simulates what the kubelets do with a round's placements, in their
  order, so that pods of different classes do not count on the same zone. The kubelet gives a task the lowest zone in
  which it fits; so the capacity of an arc from a class to a machine is the sum of its zones' slots.
* **A new task is subtracted from one zone, not from all.** As long as a record does not count a task, the model
  subtracts the task from the zone that its kubelet must have given it; upstream's cache subtracts it from every zone.
* **Options**, off by default: other policies (``modelledPolicies``), the distance of zones (``distanceCost``), and pods
  that ask for alignment themselves (``podHints``).

Zones may have any ids, which upstream does not support. Rounding and division are as in upstream, so that scores are
the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cost_models.api.arrays import Arrays
from cost_models.interface import (
    Arrivals,
    Assessment,
    BaseModel,
    Bool,
    Float64,
    Int64,
    MachineColumns,
    Needs,
    Range,
    ShapeBatch,
)
from cost_models.numa.arguments import MODEL_NAME, NumaOptions, read_options
from cost_models.numa.filter import UNKNOWN, FilterRows, filter_rows
from cost_models.numa.kubelet_simulation import SINGLE, ZoneRoom
from cost_models.numa.least_zones import least_zones_scores
from cost_models.numa.records import RECORD_KIND
from cost_models.numa.requests import PodRequests, bad_hints, compile_requests, pods_of, resources_of
from cost_models.numa.room_after_eviction import ZonesAfterEviction
from cost_models.numa.scores import PERFECT, STRATEGIES, allocation_scores
from cost_models.numa.zone_ledger import ZoneLedger, read_room
from cost_models.numa.zones import ZoneReader, ZoneTable, find_tasks_beyond_records, zone_room

LOCAL_DISTANCE = 10


class NumaFit(BaseModel):
    """Filters and scores machines by their NUMA zones; the module `arguments` lists the arguments.

    The native figure is the score, less what the distance of the zones costs.
    """

    name = MODEL_NAME
    kind = "overlay"
    range = Range(best=PERFECT, worst=0)
    needs = Needs(containers=True, qos=True, records=(RECORD_KIND,), arrivals=(RECORD_KIND,))

    def __init__(self, **args: Any) -> None:
        self._options = read_options(args)
        self._reader = ZoneReader()

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return which machines would admit the tasks, scores, and the ledger."""
        options = self._options
        table, notes = self._reader.read(machines.names, machines.records.get(RECORD_KIND, {}))
        pods = pods_of(shapes.rows, shapes.requests, machines.resources, options)
        notes = (*notes, *bad_hints(shapes, options))
        if table is None:
            return _assess_unknown_zones(machines, pods, options, notes)
        arrivals = find_tasks_beyond_records(machines.arrivals, table, options)
        kinds, described = _kinds(machines.arrivals if options.evicting else arrivals, machines, options)
        every = [*pods, *described]
        table = table.add_resources(resources_of(every))
        requests = compile_requests(every, table.resources, options)
        table, invalid = _fresh(table, arrivals, machines.now, options)
        room = zone_room(table, requests, machines, options)
        available = _replay(room, table, arrivals, kinds, len(pods))
        verdicts = filter_rows(room, len(pods), table.known, invalid, refuse_unknown=options.refuse_unknown)
        if options.strategy in STRATEGIES:
            score = allocation_scores(table, available, requests, len(pods), options)
        else:
            score = least_zones_scores(table, available, requests, len(pods))
        raw = score
        if options.distance_cost > 0:
            raw = np.maximum(0.0, score - options.distance_cost * _remoteness(room, table, len(pods)))
        aligns = bool((room.policy > 0).any() or requests.hint.any())
        return Assessment(
            raw=raw,
            feasible=verdicts.feasible,
            causes=verdicts.causes,
            reasons=verdicts.reasons,
            reason=verdicts.reasons[0],
            score=score,
            ledger=ZoneLedger(room) if aligns else None,
            room_after_eviction=_find_room_after_eviction(
                room, table, machines, arrivals, options, verdicts, ~invalid
            )
            if aligns and options.evicting
            else None,
            notes=notes,
        )

    @staticmethod
    def restore_ledger(arrays: Arrays, shapes: int, machines: int) -> ZoneLedger:
        """Return the ledger of a saved round; see ``SavableLedger``."""
        return ZoneLedger(read_room(arrays, shapes, machines))


def _assess_unknown_zones(
    machines: MachineColumns, pods: list[PodRequests], options: NumaOptions, notes: tuple[str, ...]
) -> Assessment:
    """Return the answer if no zone is known: as in upstream all machines pass, and guaranteed pods score 0."""
    raw = np.array([[0.0 if pod.guaranteed else float(PERFECT)] for pod in pods]).reshape(-1, 1)
    feasible: Bool | None = None
    refused = [
        (options.refuse_unknown and not pod.best_effort) or (options.pod_hints and pod.hint > 0)
        for pod in pods
    ]
    if any(refused):
        feasible = np.repeat(~np.array(refused, dtype=np.bool_)[:, None], machines.count, axis=1)
    return Assessment(
        raw=raw,
        score=np.broadcast_to(raw, (len(pods), machines.count)),
        feasible=feasible,
        reason=UNKNOWN,
        notes=notes,
    )


def _kinds(
    arrivals: Arrivals | None, machines: MachineColumns, options: NumaOptions
) -> tuple[Int64, list[PodRequests]]:
    """Return the kinds of ``arrivals``, ascending, and the requests of each."""
    if arrivals is None:
        return np.empty(0, dtype=np.int64), []
    kinds, known = np.unique(arrivals.kind), arrivals.kinds
    return kinds, pods_of(known.rows(kinds), known.requests(kinds), machines.resources, options)


def _fresh(
    table: ZoneTable, arrivals: Arrivals | None, now: float, options: NumaOptions
) -> tuple[ZoneTable, Bool]:
    """Return the table without records that are to be ignored, and which machines have unreliable records: bool[M].

    A record is unreliable, for example, if tasks were evicted for another task: only a newer record can say which
    zone that task got.
    """
    invalid = np.zeros(table.machines, dtype=np.bool_)
    if arrivals is not None:
        invalid[arrivals.machine[arrivals.displacing]] = True
        if options.discard_reserved:
            invalid[arrivals.machine] = True
            invalid &= table.known
    if options.stale_after > 0 and options.stale != "use":
        stale = table.known & ~(
            now - table.updated <= options.stale_after
        )  # A record without a time counts as stale.
        if options.stale == "refuse":
            invalid |= stale
        else:
            table = table.drop_machines(stale)
    return table, invalid


def _replay(room: ZoneRoom, table: ZoneTable, arrivals: Arrivals | None, kinds: Int64, first: int) -> Int64:
    """Book the tasks that records do not count yet; return what zones have left of the resources that they list:
    int64[R, M, Z].

    ``try_one_task``: row in ``room`` of the first of ``kinds``.
    """
    if arrivals is None:
        return table.amounts[0]
    before = room.left.copy()
    shapes = np.searchsorted(kinds, arrivals.kind) + first
    room.book(shapes, arrivals.machine, np.ones(len(arrivals.kind), dtype=np.int64))
    return np.maximum(table.amounts[0] - (before - room.left), 0)


def _find_room_after_eviction(
    room: ZoneRoom,
    table: ZoneTable,
    machines: MachineColumns,
    uncounted_yet: Arrivals | None,
    options: NumaOptions,
    verdicts: FilterRows,
    valid: Bool,
) -> ZonesAfterEviction | None:
    """Return the machines that evictions would make acceptable, except those whose record lacks some of their tasks."""
    arrivals = machines.arrivals
    if arrivals is None:
        return None
    keeping = replace(options, kubelet_sidecars=True)
    kinds, described = _kinds(arrivals, machines, keeping)
    counted = (room.policy == SINGLE) & valid
    if uncounted_yet is not None:
        counted[uncounted_yet.machine] = False
    order = np.argsort(arrivals.machine, kind="stable")
    return ZonesAfterEviction(
        held=~verdicts.feasible & verdicts.unaligned,
        open_to_it=counted,
        requests=room.requests,
        residing=compile_requests(described, table.resources, keeping) if described else room.requests,
        pod_scope=room.pod_scope,
        left=room.left,
        given=np.where(table.listed, table.amounts[1] - table.amounts[0], 0),
        machine=arrivals.machine[order],
        task=arrivals.task[order],
        shape=np.searchsorted(kinds, arrivals.kind[order]),
    )


def _remoteness(room: ZoneRoom, table: ZoneTable, shapes: int) -> Float64:
    """Return how far the mean distance of a task's zones exceeds the local one, in units of 10: float64[shapes, M]."""
    remoteness = np.zeros((shapes, table.machines))
    for shape in range(shapes):
        _, used = room.try_one_task(shape)
        pairs = used[:, :, None] & used[:, None, :]
        count = pairs.sum(axis=(1, 2))
        mean = np.where(pairs, table.distance, 0).sum(axis=(1, 2)) / np.maximum(count, 1)
        remoteness[shape] = np.where(count > 0, np.maximum(mean - LOCAL_DISTANCE, 0), 0) / LOCAL_DISTANCE
    return remoteness
