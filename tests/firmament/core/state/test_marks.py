"""Marks stay with their machines, however rows move."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firmament.core.events import MachineSampled, MachineSampleRemoved
from firmament.core.model import Machine
from firmament.core.state.cluster import Cluster

NAMES = [f"m{index}" for index in range(6)]
CHANGES = ("add", "remove", "mark", "report", "withdraw", "look", "clear")


def marked(cluster: Cluster) -> set[str]:
    return {cluster.machines.specs[row].name for row in cluster.dirty.rows().tolist()}


@given(st.lists(st.tuples(st.sampled_from(CHANGES), st.sampled_from(NAMES)), max_size=40))
def test_marks_follow_their_machines(changes):
    """Held against sets of names: what is added or marked at once, what is reported about when it is looked at."""
    cluster, known, expected, reported = Cluster(), set[str](), set[str](), set[str]()
    for now, (change, name) in enumerate(changes):
        there = name in known
        if change == "add":
            cluster.upsert_machine(Machine(name, {"cpu": 1000}))
            known.add(name)
            expected.add(name)
        elif change == "remove":
            cluster.remove_machine(name)
            for names in (known, expected, reported):
                names.discard(name)
        elif change == "mark":
            cluster.mark(name)
            expected |= {name} if there else set()
        elif change == "report":
            cluster.reports.apply(MachineSampled(name, 100.0 + now, {"cpu": 1.0}))
            reported |= {name} if there else set()
        elif change == "withdraw":
            cluster.reports.apply(MachineSampleRemoved(name))
            reported |= {name} if there else set()
        elif change == "look":
            wait, rows = cluster.reports.due(float(now))
            assert wait is None  # a second after the last look at the earliest
            cluster.dirty.machines.update(rows.tolist())
            expected |= reported
            reported.clear()
        else:
            cluster.dirty.clear()
            expected.clear()
        assert marked(cluster) == expected
        assert cluster.dirty.any_machine == bool(expected)


def test_many_machines_are_marked():
    cluster = Cluster()
    for index in range(200):
        cluster.upsert_machine(Machine(f"m{index}", {"cpu": 1000}))
    assert len(cluster.dirty.rows()) == 200
    cluster.remove_machine("m0")
    assert cluster.dirty.rows().tolist() == list(range(199))
