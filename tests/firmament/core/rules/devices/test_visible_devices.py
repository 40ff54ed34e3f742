"""Which devices each machine sees: by name and by labels, of the newest generation that is whole."""

from __future__ import annotations

import json
from typing import Any

from firmament.core.events import Event
from firmament.core.intake.events import apply_events
from firmament.core.rules.devices.visible_devices import DeviceInventory
from firmament.core.state.cluster import Cluster
from tests.support.core import machine
from tests.support.devices import device, slice_spec

ALL: dict[str, Any] = {"allNodes": True}
ZONE_Z: dict[str, Any] = {
    "nodeSelector": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]}]
    }
}


def cluster_of(*events: Event) -> Cluster:
    cluster = Cluster()
    made: list[Event] = [machine("a", labels={"zone": "z"}), machine("b", labels={"zone": "z"}), machine("c")]
    apply_events(cluster, [*made, *events], 0.0)
    return cluster


def a_slice(pool: str, *names: str, generation: int = 1, slices: int = 1, **fields: Any) -> bytes:
    spec = slice_spec(pool, [device(name) for name in names], slices, **fields)
    spec["pool"]["generation"] = generation
    return json.dumps(spec).encode()


def seen(inventory: DeviceInventory, cluster: Cluster) -> list[list[tuple[str, int, int]]]:
    """By machine: name, generation and devices (bits) of each pool."""
    return [
        [(place.pool[1], place.pool[2], place.devices) for place in view.places]
        for view in inventory.see(cluster.machines, frozenset())
    ]


def inventory_of(**slices: bytes) -> DeviceInventory:
    made = DeviceInventory()
    made.update(slices)
    return made


def test_devices_are_seen_where_they_are():
    found = inventory_of(
        own=a_slice("a", "d0", "d1"), net=a_slice("net", "n0", **ALL), zone=a_slice("rack", "r0", **ZONE_Z)
    )
    cluster = cluster_of()
    assert seen(found, cluster) == [
        [("a", 1, 0b11), ("net", 1, 1), ("rack", 1, 1)],
        [("net", 1, 1), ("rack", 1, 1)],
        [("net", 1, 1)],
    ]
    assert {name[1]: rows for name, rows in found.watchers.items()} == {"net": (0, 1, 2), "rack": (0, 1)}
    assert found.watched == {0, 1, 2}


def test_devices_of_one_pool_on_several_machines():
    spec = slice_spec("p", [device("d0", nodeName="a"), device("d1", nodeName="b"), device("d2", nodeName="a")],
                      perDeviceNodeSelection=True)  # fmt: skip
    found = inventory_of(s=json.dumps(spec).encode())
    assert seen(found, cluster_of()) == [[("p", 1, 0b101)], [("p", 1, 0b010)], []]
    assert {name[1]: rows for name, rows in found.watchers.items()} == {"p": (0, 1)}
    assert found.watched == {0, 1}


def test_a_newer_generation_replaces_an_older_one_where_it_is_seen():
    found = inventory_of(
        old=a_slice("p", "d0", generation=1, **ZONE_Z),
        new=a_slice("p", "d0", "d1", generation=2, nodeName="a"),
    )
    assert seen(found, cluster_of()) == [[("p", 2, 0b11)], [("p", 1, 0b1)], []]
    assert found.watched == frozenset()


def test_of_an_older_generation_only_what_is_whole_is_seen():
    of_zone = a_slice("p", "d0", slices=2, **ZONE_Z)
    newer = a_slice("p", "d9", generation=3, nodeName="c")
    whole = inventory_of(one=of_zone, two=a_slice("p", "d1", slices=2, nodeName="a"), new=newer)
    assert seen(whole, cluster_of()) == [[("p", 1, 0b11)], [], [("p", 3, 1)]]
    part = inventory_of(one=of_zone, new=newer)
    assert seen(part, cluster_of()) == [[], [], [("p", 3, 1)]]
    other = inventory_of(one=of_zone, new=a_slice("q", "d9", generation=3, nodeName="c"))
    assert seen(other, cluster_of()) == [[("p", 1, 0)], [("p", 1, 0)], [("q", 3, 1)]]


def test_what_changes_with_the_records():
    made, cluster = inventory_of(s=a_slice("a", "d0")), cluster_of()
    first = made.version
    payload = a_slice("b", "d0")
    made.update({"s": payload})
    assert made.version == first + 1
    assert seen(made, cluster) == [[], [("b", 1, 1)], []]
    made.update({"s": payload})
    assert made.version == first + 1
    made.update({"s": b"{"})
    assert made.faults.keys() == {"s"}
    assert seen(made, cluster) == [[], [], []]
    made.update({"s": payload})
    assert not made.faults
    made.update({})
    assert made.pools == {}


def test_machines_with_equal_devices_share_a_kind():
    made = inventory_of(
        a=a_slice("a", "d0", "d1"),
        b=a_slice("b", "e0", "e1"),
        c=a_slice("c", "d0"),
        net=a_slice("n", "x", **ALL),
    )
    cluster = cluster_of()
    one, two, three = made.see(cluster.machines, frozenset())
    assert one.kind is two.kind
    assert one.kind is not three.kind
    assert [each.device.name for each in one.kind.devices] == ["d0", "d1", "x"]
    again = made.see(cluster.machines, frozenset())
    assert again[0] is one
    made.forget_findings()
    assert made.see(cluster.machines, frozenset())[0].kind is not one.kind


def test_shown_places_are_seen_as_they_were_found():
    made, cluster = inventory_of(a=a_slice("a", "d0"), net=a_slice("n", "x", **ALL)), cluster_of()
    views = made.see(cluster.machines, frozenset())
    other = inventory_of(a=a_slice("a", "d0"), net=a_slice("n", "x", **ALL))
    shown = other.show([view.places for view in views], frozenset())
    assert [view.places for view in shown] == [view.places for view in views]
    assert other.watchers == made.watchers
    assert other.watched == made.watched
