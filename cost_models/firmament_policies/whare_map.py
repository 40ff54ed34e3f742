"""Places tasks on the machine types, and beside the tasks, with which their program ran fast before.

Source: Firmament's Whare-Map cost model ("M" and "MCs"), after the scheduler of that name (ISCA 2013). Runs are
compared by picoseconds per instruction, runtime * 1e12 / instructions. psi is the mean of a program's runs on a machine
type; xi is their mean on a machine type beside certain co-runners, counted by type; best and worst are the lowest and
the highest of the program's means. The original charges:

* task -> cluster -> machine: 100 * worst / best; nothing for a program that never ran;
* task -> program -> machine type -> machine: 100 * psi / best;
* task -> program -> machine: 100 * xi / best, with the machine's present tasks as co-runners;
* machine -> core: the number of the core, 0 to 47, which spreads tasks.

In this model, each machine has one figure, on the class's own arc: xi if a sample of it exists, else psi if a sample
of the machine type exists, else the worst; plus 48 * running / slots in place of the core's number. A program that
never ran costs 100 everywhere, the lowest figure. This model mends these faults of the original:

* the original found the best mean with the comparison for the worst, so that both were the highest and no cost
  exceeded 100;
* co-runners were counted in an empty list. in this model, co-runners are the tasks on the machine, by the label
  ``taskType``;
* in the original, the number of instructions never reached the model, and one place in the code took a second for
  1e10 picoseconds. In this model, samples come as records;
* only a program's two cheapest machines had an arc for xi. As a further arc can only lower a cost, bad neighbours
  never made a machine dearer. In this model, every machine with a sample of its co-runners has its own figure;
* in the original, psi was divided by the best psi, and xi by the best xi, so the two could not be compared. In this
  model, both are divided by the best of all means.

Four parts are left out: the number of idle cores, which follows from machine type and co-runners; the arc to a node
per job, which led to no machine; the arcs task -> unscheduled, as the scheduler has its own cost of waiting, which
exceeds any placement and grows with wait and priority; and the capacities of machine types, as the scheduler counts
what is free exactly.
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
"""How much more a full machine costs than an empty one: in the original, machines have cores with numbers up to 48."""


class WhareMap(BaseModel):
    """Charges for slow machine types and bad neighbours, and a little for full machines.

    Argument ``machineTypeLabels``: the node labels that name the machine type; of several on a node the first counts.
    Without these labels, the machine's capacity is its type, such as ``cpu=4000,memory=17179869184``.
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
        """Return the figure of every machine plus the cost of how full it is: float64[S, M]."""
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
        """Return by how much each task raises the cost of the next one: ``CORES`` per slot, float64[M]."""
        return self._compute_cores_per_slot(machines)

    def _compute_cores_per_slot(self, machines: MachineColumns) -> Float64:
        """Return the cores of each machine, divided by the number of pods that it takes: float64[M]. A machine has as
        many slots as it takes pods."""
        column = machines.column("pods")
        if column is None:
            return np.ones(machines.count)
        return CORES / np.maximum(machines.capacity[:, column], 1)


def _figures(
    machines: MachineColumns, labels: Sequence[str], programs: Mapping[str, Program]
) -> dict[str, Float64]:
    """Return for each program how slowly it ran on each machine, 100 for its fastest runs: float64[M].

    Computed once for machines of equal type and residents, of which a cluster has few.
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
    """Return the name of each machine's type."""
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
