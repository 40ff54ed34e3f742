"""Machine types and co-runners: tasks go where their program ran fast before.

Source: Firmament's Whare-Map cost model ("M" and "MCs"), after the scheduler of that name (ISCA 2013). Runs are
compared by picoseconds per instruction, runtime * 1e12 / instructions. psi is their mean by machine type; xi their
mean by machine type and number of co-runners of each type; best and worst are the extremes of a program's means. The
original's arcs, and what is charged when a task takes them:

* task -> cluster -> machine: 100 * worst / best; nothing for a program that never ran;
* task -> program -> machine type -> machine: 100 * psi / best;
* task -> program -> machine: 100 * xi / best, for the machine with its present residents as co-runners;
* machine -> core: the number of the core, 0 to 47, which spreads tasks.

On a class's own arcs these become one figure per machine: xi if there is a sample of it, else psi if there is one of
the type, else the worst; plus 48 * running / slots for the core. A program that never ran costs 100 everywhere, the
best that there is. Mended here:

* the best was found with the comparison of the worst, so that both were the highest and no cost exceeded 100;
* co-runners were gathered from an empty list: they are the tasks on the machine, by the label ``taskType``;
* instructions never arrived, and a second place counted 1e10 picoseconds to the second: samples come as records;
* only the two cheapest machines per program had an arc for xi, and an arc can only lower a cost, so that bad neighbours
  were never held against a machine: every machine with a sample of its co-runners carries its own figure;
* psi was divided by the best psi and xi by the best xi, which are not comparable: both are divided by the best of all.

Left out: the number of idle cores among co-runners, which type and residents imply; the arc to a node per job, which
led nowhere; task -> unscheduled, since the scheduler's own unscheduled cost (dearer than any placement, growing with
wait and priority) stands in its place, and the capacities of machine types, since the scheduler counts exact room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cost_models.api.parsed_records import RecordParser
from cost_models.arguments import Arguments
from cost_models.firmament_policies.task_types import LABEL, resident_counts, types_of
from cost_models.firmament_policies.whare_samples import (
    RECORD_KIND,
    Program,
    merge_samples,
    parse_sample,
)
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

PROGRAM_ANNOTATION = "firmament.io/program"
TYPE_LABELS = ("firmament.io/machine-type", "node.kubernetes.io/instance-type")
BEST = 100.0
CORES = 48.0
"""What a full machine costs more than an empty one: the original numbers 48 cores."""


class WhareMap(BaseModel):
    """Charges for slow machine types, bad neighbours, and a little for fullness.

    Argument ``machineTypeLabels``: node labels that name the machine type, the first that a node has counts; a machine
    without any is of the type that its capacity is, such as ``cpu=4000,memory=17179869184``.
    """

    name = "whare_map"
    kind = "policy"
    range = Range(best=BEST, worst=2 * BEST, bounded=False)
    needs = Needs(labels=(LABEL,), programs=True, residents=True, records=(RECORD_KIND,))
    promises = Promises(per_machine=True)

    def __init__(self, **args: Any) -> None:
        read = Arguments(self.name, args)
        self._type_labels = read.texts("machineTypeLabels", TYPE_LABELS)
        read.finish()
        self._samples = RecordParser(parse_sample)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return the normalised figure of every machine and its fullness: float64[S, M]."""
        samples = self._samples.read(machines.records.get(RECORD_KIND, {}))
        programs = merge_samples(samples.good)
        faults = sorted(samples.faults.items())
        notes = tuple(f"record {RECORD_KIND}/{name!r}: {fault}; it is ignored" for name, fault in faults)
        residents = machines.residents
        notes += types_of(residents.kinds)[1] if residents is not None else ()
        raw = np.tile(BEST + self._compute_cores_per_slot(machines) * machines.running, (shapes.count, 1))
        np.minimum(raw, BEST + CORES, out=raw)
        names = [row.annotations.get(PROGRAM_ANNOTATION, "") for row in shapes.rows]
        known = {name: programs[name] for name in names if name in programs}
        if known and machines.count:
            figures = _figures(machines, self._type_labels, known)
            for shape, name in enumerate(names):
                if name in figures:
                    raw[shape] += figures[name] - BEST
        return Assessment(raw=raw, notes=notes)

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:  # noqa: ARG002 - interface
        """Return the cost of the next core."""
        return self._compute_cores_per_slot(machines)

    def _compute_cores_per_slot(self, machines: MachineColumns) -> Float64:
        """Return cores per slot: float64[M]. Slots are the pods that a machine takes."""
        column = machines.column("pods")
        if column is None:
            return np.ones(machines.count)
        return CORES / np.maximum(machines.capacity[:, column], 1)


def _figures(
    machines: MachineColumns, labels: Sequence[str], programs: Mapping[str, Program]
) -> dict[str, Float64]:
    """Return 100 x mean / best of each machine for each program: float64[M], 100 or more.

    Found per type and residents of machines, of which a cluster has few different ones.
    """
    types: dict[str, int] = {}
    codes = [types.setdefault(name, len(types)) for name in _type_names(machines, labels)]
    type_names = list(types)
    rows = np.column_stack([codes, resident_counts(machines).T]).astype(np.int64)
    groups, of_machine = np.unique(rows, axis=0, return_inverse=True)
    kinds = [(tuple(group[1:]), type_names[group[0]]) for group in groups.tolist()]
    figures = {}
    for name, program in programs.items():
        means = [program.mean(co_runners, of_type) for co_runners, of_type in kinds]
        figures[name] = (BEST * (np.array(means) / program.best))[of_machine.reshape(-1)]
    return figures


def _type_names(machines: MachineColumns, labels: Sequence[str]) -> list[str]:
    """Return the type of each machine."""
    columns = [(name, machines.column(name)) for name in ("cpu", "memory")]
    names = []
    for row, given in enumerate(machines.labels):
        named = next((given[label] for label in labels if given.get(label)), "")
        names.append(
            named
            or ",".join(
                f"{name}={machines.capacity[row, column]}" for name, column in columns if column is not None
            )
        )
    return names
