"""The table of machines describes them as they were told last, row by row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firmament.core.model import Machine
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
