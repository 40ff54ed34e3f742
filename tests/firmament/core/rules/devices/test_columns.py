"""What models are shown of the devices that are free, and of what tasks would take."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from firmament.core.events import ClassDefined, Event
from firmament.core.intake.events import apply_events
from firmament.core.model import TaskClaim
from firmament.core.record_kinds import DEVICE_SLICE_RECORD
from firmament.core.rules.devices.columns import KnownDevices, show_demand, show_devices, show_free
from firmament.core.state.cluster import Cluster
from tests.support.core import machine, task_class
from tests.support.devices import (
    DRIVER,
    claim_record,
    claim_spec,
    class_record,
    device,
    exactly,
    own_claim,
    slice_record,
    slice_spec,
)

MIG = {"memory": {"value": "8"}}


def shared(name: str, **capacity: str) -> dict[str, Any]:
    stated = {key: {"value": value} for key, value in (capacity or {"memory": "8"}).items()}
    return device(name, capacity=stated, allowMultipleAllocations=True)


def allocated(pool: str, name: str, **consumed: str) -> dict[str, Any]:
    result: dict[str, Any] = {"request": "r", "driver": DRIVER, "pool": pool, "device": name}
    if consumed:
        result |= {"shareID": "one", "consumedCapacity": consumed}
    return {"devices": {"results": [result]}}


def claimed(name: str, allocation: dict[str, Any], *uids: str) -> Event:
    return claim_record(f"ns/{name}", claim_spec(exactly("gpu")), allocation, *uids)


def cluster_of(*events: Event) -> Cluster:
    cluster = Cluster()
    made: list[Event] = [*(machine(name) for name in "abc"), class_record("gpu"), *events]
    apply_events(cluster, made, 0.0)
    return cluster


def shown(cluster: Cluster, *drivers: str, without: tuple[str, ...] = ()) -> list[tuple[int, list[float]]]:
    """By machine: the kind of its devices, and the free shares."""
    columns = show_devices(cluster, drivers or (DRIVER,), frozenset(without))
    assert columns is not None
    return [
        (int(kind), free[:count].tolist())
        for kind, free, count in zip(columns.kind, columns.free, columns.count.tolist(), strict=True)
    ]


def test_without_devices_nothing_is_shown():
    assert show_free(KnownDevices(), 3, {}) is None
    assert show_devices(cluster_of(), (DRIVER,)) is None
    assert show_demand(cluster_of(), []) is None


def test_machines_with_equal_devices_are_of_one_kind():
    cluster = cluster_of(
        slice_record("c", [device("d0", capacity=MIG), device("d1", capacity=MIG)]),
        slice_record("a", [device("other", capacity=MIG)]),
    )
    assert shown(cluster) == [(0, [1.0]), (-1, []), (0, [1.0, 1.0])]


def test_kinds_differ_in_capacities_sharing_and_what_claims_read_except_uuids():
    model = (
        'device.attributes["gpu.example.com"].model == "x" && device.attributes["gpu.example.com"].uuid != ""'
    )
    events = [
        slice_record("a", [device("d", attributes={"model": "x", "uuid": "1", "serial": "1"})]),
        slice_record("b", [device("d", attributes={"model": "x", "uuid": "2", "serial": "2"})]),
        slice_record("c", [device("d", attributes={"model": "y", "uuid": "3", "serial": "3"})]),
    ]
    content = task_class(100, claims=(own_claim(exactly("gpu", 1, model)),))
    cluster = cluster_of(*events, ClassDefined(1, content))
    assert [kind for kind, _ in shown(cluster)] == [0, 0, 0]  # nobody has read a claim yet
    show_demand(cluster, [cluster.classes.rows[0].shape])
    assert [kind for kind, _ in shown(cluster)] == [0, 0, 1]
    cluster = cluster_of(
        slice_record("a", [device("d", capacity=MIG)]),
        slice_record("b", [shared("d")]),
        slice_record("c", [device("d", capacity={"memory": {"value": "9"}})]),
    )
    assert [kind for kind, _ in shown(cluster)] == [0, 1, 2]


def test_only_whole_pools_that_one_machine_reaches_count():
    partition = [{"counterSet": "s", "counters": {"n": {"value": "1"}}}]
    sets = [{"name": "s", "counters": {"n": {"value": "2"}}}]
    cluster = cluster_of(
        slice_record("a", [device("d"), device("part", consumesCounters=partition)], sharedCounters=sets),
        slice_record("b", [device("d")], slices=2),
        slice_record("net", [device("d")], allNodes=True),
        slice_record("elsewhere", [device("d")]),
        slice_record("c", [device("d"), device("d")]),  # a name twice is a fault
    )
    assert shown(cluster) == [(0, [1.0]), (-1, []), (-1, [])]


def test_only_the_drivers_asked_for_and_the_newest_generation_count():
    cluster = cluster_of(slice_record("a", [device("d0"), device("d1")]))
    assert show_devices(cluster, ("other",)) is None
    spec = slice_spec("a", [device("d0")])
    spec["pool"]["generation"] = 2
    cluster.keep_record(DEVICE_SLICE_RECORD, "newer", json.dumps(spec).encode())
    assert shown(cluster) == [(0, [1.0]), (-1, []), (-1, [])]


def test_what_is_free_of_each_device():
    cluster = cluster_of(
        slice_record("a", [device("d0"), device("d1")]),
        slice_record("b", [shared("s0"), shared("s1", memory="8", slots="4", none="0"), shared("s2")]),
        claimed("whole", allocated("a", "d1"), "t"),
        claimed("part", allocated("b", "s0", memory="2"), "t"),
        claimed("parts", allocated("b", "s1", memory="2", slots="3"), "u"),
        claimed("over", allocated("b", "s2", memory="9"), "v"),
    )
    assert shown(cluster) == [(0, [1.0, 0.0]), (1, [0.75, 0.25, 0.0]), (-1, [])]
    assert shown(cluster, without=("t",)) == [(0, [1.0, 1.0]), (1, [1.0, 0.25, 0.0]), (-1, [])]
    assert shown(cluster, without=("u", "v")) == [(0, [1.0, 0.0]), (1, [0.75, 1.0, 1.0]), (-1, [])]


def test_a_machine_shows_its_pools_of_one_kind_together():
    cluster = cluster_of(
        slice_record("p0", [device("d0")], nodeName="a"),
        slice_record("p1", [device("d0"), device("d1")], nodeName="a"),
        slice_record("p2", [device("d0", capacity=MIG)], nodeName="a"),
    )
    assert shown(cluster)[0] == (0, [1.0, 1.0, 1.0])


# --- what tasks take -------------------------------------------------------------------------------------------------


def demand_of(cluster: Cluster, *claims: Any) -> tuple[list[list[int]], list[list[float]]]:
    """Count and share by shape and kind; each of ``claims`` is those of one shape."""
    apply_events(
        cluster,
        [ClassDefined(number, task_class(100 + number, claims=each)) for number, each in enumerate(claims)],
        0.0,
    )
    assert show_devices(cluster, (DRIVER,)) is not None
    shapes = [cluster.classes.rows[cluster.classes.row(number)].shape for number in range(len(claims))]
    found = show_demand(cluster, shapes)
    assert found is not None
    return found.count.tolist(), found.share.tolist()


def part(amount: str) -> Any:
    return own_claim(exactly("gpu", 1, capacity={"requests": {"memory": amount}}), name=f"of-{amount}")


def test_how_many_devices_of_each_kind_tasks_take():
    cluster = cluster_of(slice_record("a", [device("d0")]), slice_record("b", [shared("s0")]))
    count, share = demand_of(
        cluster,
        (own_claim(exactly("gpu", 2)), own_claim(exactly("gpu", 3), name="more")),
        (part("2"), part("6")),
        (own_claim(exactly("gpu", 1), exactly("gpu", 1, name="admin", adminAccess=True)),),
        (own_claim(exactly("gpu", 0)),),
        (),
    )
    assert count == [[5, 5], [2, 2], [1, 1], [1, 1], [0, 0]]
    infinite = float("inf")
    assert share[0] == [1.0, 1.0]
    assert share[1] == [infinite, 0.75]  # whole devices have no memory of which to take a part
    assert share[2:] == [[1.0, 1.0], [infinite, infinite], [0.0, 0.0]]


def test_the_largest_part_of_a_device_counts():
    cluster = cluster_of(slice_record("a", [shared("s0", memory="8", slots="4", none="0")]))
    claim = exactly("gpu", 1, capacity={"requests": {"memory": "2", "slots": "3"}})
    less = exactly("gpu", 1, capacity={"requests": {"memory": "6", "slots": "1"}})
    assert demand_of(cluster, (own_claim(claim),), (own_claim(less),)) == ([[1], [1]], [[0.75], [0.75]])


def test_only_claims_without_devices_count():
    cluster = cluster_of(
        slice_record("a", [device("d0"), device("d1")]),
        claimed("has", allocated("a", "d1"), "t"),
        claim_record("ns/wants", claim_spec(exactly("gpu", 2))),
    )

    count, _ = demand_of(
        cluster,
        (
            TaskClaim("c", claim="ns/has"),
            TaskClaim("d", claim="ns/wants"),
            TaskClaim("e", claim="ns/nothing"),
        ),
        (own_claim(exactly("unknown")), own_claim(exactly("gpu"), name="known")),
    )
    assert count == [[2], [1]]


def test_no_demand_without_claims():
    cluster = cluster_of(slice_record("a", [device("d0")]))
    apply_events(cluster, [ClassDefined(1, task_class(100))], 0.0)
    assert show_devices(cluster, (DRIVER,)) is not None
    assert show_demand(cluster, [0]) is None


@pytest.mark.parametrize("count", [64, 65])
def test_so_many_kinds_are_told_apart(count: int):
    cluster = Cluster()
    names = [f"m{number:02}" for number in range(count)]
    apply_events(cluster, [machine(name) for name in names], 0.0)
    for number, name in enumerate(names):
        record = slice_record(name, [device("d", capacity={"memory": {"value": str(number)}})])
        cluster.keep_record(record.kind, name, record.payload)
    columns = show_devices(cluster, (DRIVER,))
    assert columns is not None
    assert columns.kind.tolist() == [*range(64), *[-1] * (count - 64)]
    assert np.array_equal(columns.count, columns.kind >= 0)
