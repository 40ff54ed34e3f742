"""Domains of machines."""

from __future__ import annotations

from firmament.core.events import Event, MachineRemoved
from firmament.core.intake.events import apply_events
from firmament.core.state.cluster import Cluster
from firmament.core.state.domains import DomainsByKey
from tests.support.core import machine


def cluster(*events: Event) -> Cluster:
    made = Cluster()
    apply_events(made, list(events), 0.0)
    return made


def of(made: Cluster, key: str) -> tuple[list[int], bool]:
    found = DomainsByKey(made.machines).get(key)
    assert found.domain.max(initial=-1) < found.count
    return found.domain.tolist(), found.coarse


def test_machines_with_one_value_are_one_domain():
    made = cluster(
        machine("m0", labels={"zone": "a", "host": "m0"}),
        machine("m1", labels={"zone": "b", "host": "m1"}),
        machine("m2", labels={"zone": "a"}),
        machine("m3"),
    )
    assert of(made, "zone") == ([0, 1, 0, -1], True)
    assert of(made, "host") == ([0, 1, -1, -1], False)
    assert of(made, "rack") == ([-1] * 4, False)
    single = DomainsByKey(made.machines).single
    assert (single.domain.tolist(), single.count, single.coarse) == ([0, 1, 2, 3], 4, False)


def test_domains_follow_machines():
    made = cluster(*(machine(name, labels={"zone": zone}) for name, zone in zip("mno", "aab", strict=True)))
    assert of(made, "zone") == ([0, 0, 1], True)
    apply_events(made, [MachineRemoved("m")], 0.0)  # the last one takes its row
    assert of(made, "zone") == ([1, 0], False)
    apply_events(made, [machine("n", labels={"zone": "b"}), machine("p", labels={"zone": "c"})], 0.0)
    assert of(made, "zone") == ([1, 1, 0], True)  # nobody is in zone a any more: its number is given again


def test_no_machines():
    made = cluster()
    assert of(made, "zone") == ([], False)
