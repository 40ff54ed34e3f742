"""The table of machines describes them as they were told last, row by row."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.model import Machine, Taint
from firmament.core.resources import ResourceIndex
from firmament.core.state.machines import MachineTable

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
DESCRIPTIONS = st.dictionaries(st.sampled_from(["zone", "disk"]), st.sampled_from(["x", "y"]))


@given(st.lists(st.tuples(NAMES, DESCRIPTIONS, DESCRIPTIONS) | NAMES | st.none(), max_size=20))
def test_machines_are_described_as_told_last(steps):
    table = MachineTable(ResourceIndex())
    told: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
    for step in [*steps, None]:
        if step is None:  # somebody looks
            described = table.describe()
            assert sorted(described.names) == sorted(told)
            assert [table.row_of[name] for name in described.names] == list(range(len(table)))
            found = zip(described.names, described.labels, described.annotations, strict=True)
            assert {name: (labels, annotations) for name, labels, annotations in found} == told
        elif isinstance(step, tuple):
            name, labels, annotations = step
            table.upsert(Machine(name, {"cpu": 1}, labels=labels, annotations=annotations))
            told[name] = labels, annotations
        elif step in told:
            table.remove(table.row_of[step])
            del told[step]


TAINT = Taint("dedicated", "x", "NoSchedule")
MACHINES = st.builds(
    Machine,
    NAMES,
    st.fixed_dictionaries({"cpu": st.integers(1, 9)}, optional={"gpu": st.integers(0, 2)}),
    labels=DESCRIPTIONS,
    taints=st.sampled_from([(), (TAINT,)]),
    unschedulable=st.booleans(),
    not_ready=st.booleans(),
    annotations=DESCRIPTIONS,
    total=st.fixed_dictionaries({}, optional={"cpu": st.integers(10, 12), "disk": st.integers(0, 2)}),
    attached=st.sampled_from([(), ("v",), ("w",), ("v", "w")]),
)


@given(st.lists(MACHINES | NAMES, max_size=20))
def test_rows_show_what_machines_state_and_count_what_is_stated(steps):
    table = MachineTable(ResourceIndex())
    told: dict[str, Machine] = {}
    for step in steps:
        mark = table.changes.mark()
        if isinstance(step, Machine):
            row = table.upsert(step)
            told[step.name] = step
            assert table.specs[row] == step
        elif step in told:
            row = table.row_of[step]
            moved = table.remove(row)
            row = row if moved >= 0 else -1
            del told[step]
        else:
            continue
        touched = [table.specs[row].name] if row >= 0 else []
        stamps = table.changes.stamps(len(table))
        assert [table.specs[each].name for each in np.flatnonzero(stamps > mark)] == touched
        machines = [told[spec.name] for spec in table.specs]
        assert sorted(told) == sorted(spec.name for spec in table.specs)
        assert table.cordoned.tolist() == [each.unschedulable for each in machines]
        assert table.not_ready.tolist() == [each.not_ready for each in machines]
        for column, name in enumerate(table.resources.names):
            assert table.capacity[:, column].tolist() == [each.allocatable.get(name, 0) for each in machines]
            assert table.total[:, column].tolist() == [
                {**each.allocatable, **each.total}.get(name, 0) for each in machines
            ]
        assert [*table.labels.rows] == [each.labels for each in machines]
        which, hard = table.taints.first_untolerated((), len(table))
        assert [hard[each] if each >= 0 else None for each in which] == [
            each.taints[0] if each.taints else None for each in machines
        ]
        assert table.find_named(["a", "z"]).tolist() == [each.name == "a" for each in machines]
        assert table.stated == Counter(
            field
            for each in machines
            for field in ("labels", "taints", "unschedulable", "not_ready", "annotations")
            if getattr(each, field)
        )
        assert table.attached == {
            volume: {each.name for each in machines if volume in each.attached}
            for volume in ("v", "w")
            if any(volume in each.attached for each in machines)
        }
