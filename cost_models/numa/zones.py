"""Reads NUMA zones of machines as columns: free amounts from records, and tasks that records do not include yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cost_models.api.parsed_records import Parsed, RecordParser
from cost_models.interface import Arrivals, Bool, Float64, Int64, MachineColumns
from cost_models.numa.arguments import NumaOptions
from cost_models.numa.kubelet_simulation import SINGLE, ZoneRoom
from cost_models.numa.records import RECORD_KIND, UNKNOWN_DISTANCE, ZoneTopology, parse_topology
from cost_models.numa.requests import ALWAYS_ALLOCATABLE, Requests, is_host_level
from cost_models.numa.single_zone_alignment import UNLIMITED, UNLISTED

NO_RECORD = -1


@dataclass(frozen=True, slots=True)
class ZoneTable:
    """The zones of M machines, at most Z (1 or more) each, in order of their ids; R resources. Read-only."""

    resources: tuple[str, ...]
    """Names of the resources."""
    policy: NDArray[np.int8]
    """int8[M], row of ``POLICIES``, -1 for a machine without a record."""
    pod_scope: Bool
    """bool[M], whether pods are aligned as a whole."""
    max_zones: Int64
    """int64[M], most zones that the kubelet accepts."""
    updated: Float64
    """float64[M], when the record was written, in seconds since the epoch; NaN if unknown."""
    zones: Int64
    """int64[M], number of zones of each machine."""
    listed: Bool
    """bool[R, M, Z], whether a zone lists the resource; False without a zone."""
    amounts: Int64
    """int64[3, R, M, Z], available, allocatable and total amounts."""
    distance: Int64
    """int64[M, Z, Z], distance from zone to zone."""
    missing: Mapping[int, frozenset[str]]
    """By machine, the ids of the tasks that the figures do not count; a machine has no entry if they are not known."""

    @property
    def machines(self) -> int:
        """Number of machines: M."""
        return len(self.policy)

    @property
    def there(self) -> Bool:
        """bool[M, Z]: whether each zone exists."""
        return np.arange(self.listed.shape[2]) < self.zones[:, None]

    @property
    def known(self) -> Bool:
        """bool[M]: whether each machine has a record."""
        return self.policy != NO_RECORD

    def add_resources(self, names: Sequence[str]) -> ZoneTable:
        """Return the table with rows for ``names`` too; no zone lists a resource that is added."""
        new = tuple(name for name in names if name not in self.resources)
        if not new:
            return self
        shape = (len(new), *self.listed.shape[1:])
        return replace(
            self,
            resources=(*self.resources, *new),
            listed=np.concatenate([self.listed, np.zeros(shape, dtype=np.bool_)]),
            amounts=np.concatenate([self.amounts, np.zeros((3, *shape), dtype=np.int64)], axis=1),
        )

    def drop_machines(self, machines: Bool) -> ZoneTable:
        """Return the table as if ``machines`` (bool[M]) had no record."""
        return replace(
            self,
            policy=np.where(machines, np.int8(NO_RECORD), self.policy).astype(np.int8),
            zones=np.where(machines, 0, self.zones),
            listed=self.listed & ~machines[:, None],
        )


class ZoneReader:
    """Reads the NUMA records of nodes into one table of zones; keeps it, since few records change from round to round.

    Equal records give equal tables, whatever was read before. Threads may share a reader, because it replaces its
    stored table as a whole.
    """

    def __init__(self) -> None:
        self._parser = RecordParser(parse_topology)
        self._last: tuple[list[str], Parsed[ZoneTopology], ZoneTable | None] | None = None

    def read(
        self, names: Sequence[str], records: Mapping[str, bytes]
    ) -> tuple[ZoneTable | None, tuple[str, ...]]:
        """Return the zones of the machines ``names``, None if none has a record, and notes on bad records.

        A machine with a bad record counts as a machine without a record.
        """
        parsed = self._parser.read({name: records[name] for name in names if name in records})
        notes = tuple(
            f"record {RECORD_KIND}/{name!r}: {fault}; the machine counts as one without a record"
            for name, fault in parsed.faults.items()
        )
        last = self._last
        if last is not None and last[1] is parsed and last[0] == list(names):
            return last[2], notes
        table = _table([parsed.good.get(name) for name in names]) if parsed.good else None
        self._last = list(names), parsed, table
        return table, notes


def _table(found: Sequence[ZoneTopology | None]) -> ZoneTable:
    """Return the topologies of all machines as columns; machines with equal layout are copied together."""
    count = len(found)
    there = [(machine, each) for machine, each in enumerate(found) if each is not None]
    resources = tuple(sorted({name for _, each in there for name in each.resources}))
    row_of = {name: row for row, name in enumerate(resources)}
    zones = np.array([0 if each is None else len(each.ids) for each in found], dtype=np.int64)
    width = max(1, int(zones.max(initial=0)))
    table = ZoneTable(
        resources=resources,
        policy=np.array([NO_RECORD if each is None else each.policy for each in found], dtype=np.int8),
        pod_scope=np.array([each is not None and each.pod_scope for each in found], dtype=np.bool_),
        max_zones=np.array([1 if each is None else each.max_zones for each in found], dtype=np.int64),
        updated=np.array([np.nan if each is None else each.updated for each in found]),
        zones=zones,
        listed=np.zeros((len(resources), count, width), dtype=np.bool_),
        amounts=np.zeros((3, len(resources), count, width), dtype=np.int64),
        distance=np.full((count, width, width), UNKNOWN_DISTANCE, dtype=np.int64),
        missing={row: each.missing for row, each in there if each.missing is not None},
    )
    layouts: dict[tuple[tuple[str, ...], int], list[tuple[int, ZoneTopology]]] = {}
    for machine, each in there:
        layouts.setdefault((each.resources, len(each.ids)), []).append((machine, each))
    for (names, size), members in layouts.items():
        rows = np.array([row_of[name] for name in names], dtype=np.int64)[:, None, None]
        machines = np.array([machine for machine, _ in members], dtype=np.int64)[:, None]
        columns, alike = np.arange(size), [each for _, each in members]
        table.listed[rows, machines, columns] = np.stack([each.listed for each in alike], axis=1)
        table.amounts[:, rows, machines, columns] = np.stack([each.amounts for each in alike], axis=2)
        distance = np.stack([each.distance for each in alike])
        table.distance[machines[:, None], columns[:, None], columns] = distance
    return table


def zone_room(
    table: ZoneTable, requests: Requests, machines: MachineColumns, options: NumaOptions
) -> ZoneRoom:
    """Return the free amounts of zones that the records state. ``table`` has the resources of ``requests``, in their
    order.

    Zones count for machines that align under single-numa-node, and under the policies that ``options`` model.
    """
    looked_at = np.isin(table.policy, [SINGLE, *sorted(options.modelled)])
    policy = np.where(looked_at, table.policy, np.int8(0)).astype(np.int8)
    listed = table.listed
    left = np.where(listed, table.amounts[0], np.int64(UNLISTED))
    total = table.amounts[1].copy()
    for row, name in enumerate(requests.resources):
        if is_host_level(name):
            nowhere = ~listed[row].any(axis=1)
            left[row][nowhere[:, None] & table.there] = UNLIMITED
        if name not in ALWAYS_ALLOCATABLE:
            column = machines.column(name)
            left[row][slice(None) if column is None else machines.capacity[:, column] == 0] = UNLISTED
        if name == "cpu" or "/" in name:
            # The kubelet's managers of cpu and devices also count what is reserved for the system: the capacity.
            total[row] = table.amounts[2, row]
    return ZoneRoom(requests, policy, table.pod_scope, total, left)


# --- Which tasks are on a machine, but not in its record's figures yet.
#
# A record counts the tasks that the scheduler knew to be on the machine when the record arrived. It does not count
# tasks that got their machine after ``updated`` less ``settleSeconds``, the time that kubelet and exporter take. If
# the driver compared fingerprints, the record itself says which tasks are ``missing``.


def find_tasks_beyond_records(
    arrivals: Arrivals | None, table: ZoneTable, options: NumaOptions
) -> Arrivals | None:
    """Return the tasks on machines that the machines' records do not include yet, in order of arrival.

    None if the records include all tasks.
    """
    if arrivals is None or len(arrivals.machine) == 0:
        return None
    machine = arrivals.machine
    known = table.known[machine]
    with np.errstate(invalid="ignore"):
        # A comparison with an unknown time is False.
        later = arrivals.time > table.updated[machine] - options.settle
    settled = np.zeros(table.machines, dtype=np.bool_)
    settled[list(table.missing)] = True
    listed = np.zeros(len(machine), dtype=np.bool_)
    for index in np.flatnonzero(settled[machine]).tolist():
        listed[index] = arrivals.uids[int(arrivals.task[index])] in table.missing[int(machine[index])]
    rows = np.flatnonzero(known & (arrivals.after | listed | (later & ~settled[machine])))
    if len(rows) == 0:
        return None
    columns = ("machine", "kind", "task", "after", "displacing", "time")
    return replace(arrivals, **{name: getattr(arrivals, name)[rows] for name in columns})
