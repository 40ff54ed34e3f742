"""A ledger of devices, saved and read back: it answers the same, and holds no secrets."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from cost_models.api.arrays import MalformedArraysError
from firmament.core.events import Event
from firmament.core.intake.events import apply_events
from firmament.core.model import TaskClaim
from firmament.core.rules.devices.ledger import DeviceLedger
from firmament.core.rules.devices.objects.features import TAINTS
from firmament.core.rules.devices.rule import make_ledger
from firmament.core.rules.devices.saving import restore_ledger
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
)

SECRET = [{"opaque": {"driver": DRIVER, "parameters": {"key": "secret"}}}]
MEMORY: dict[str, Any] = {"capacity": {"memory": {"value": "4"}}, "allowMultipleAllocations": True}
SHAPES = [
    task_class(1, claims=(own_claim(exactly("gpu"), config=SECRET),)),
    task_class(2, claims=(own_claim(exactly("gpu", 1, capacity={"requests": {"memory": "500m"}})),)),
    task_class(3, claims=(TaskClaim("c", claim="ns/free"), own_claim(exactly("gpu"), name="d"))),
    task_class(4, claims=(TaskClaim("c", claim="ns/there"),)),
    task_class(5, claims=(own_claim(exactly("unknown")),)),
    task_class(6),
    task_class(7, claims=(own_claim(exactly("gpu", 2)),)),
]


def allocated(pool: str, name: str, **more: Any) -> dict[str, Any]:
    return {
        "devices": {"results": [{"request": "r", "driver": DRIVER, "pool": pool, "device": name, **more}]}
    }


def make() -> DeviceLedger:
    """Three machines: whole devices, of which one is in use; shared and divided ones; and a device that two reach."""
    counters = [{"name": "c", "counters": {"slots": {"value": "3"}}}]
    takes = [{"counterSet": "c", "counters": {"slots": {"value": "2"}}}]
    zone = {"key": "zone", "operator": "In", "values": ["z"]}
    field = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    share = {"shareID": "x", "consumedCapacity": {"memory": "1500m"}}
    events: list[Event] = [
        machine("a", labels={"zone": "z"}),
        machine("b", labels={"zone": "z"}),
        machine("c"),
        class_record("gpu", config=SECRET),
        class_record("bad", config=SECRET, selectors=[{}]),
        slice_record("a", [device("d0"), device("d1"), device("d2")]),
        slice_record("b", [device("s0", **MEMORY)]),
        slice_record(
            "c",
            [device("p0", consumesCounters=takes), device("p1", consumesCounters=takes)],
            sharedCounters=counters,
        ),
        slice_record(
            "net", [device("n0")], nodeSelector={"nodeSelectorTerms": [{"matchExpressions": [zone]}]}
        ),
        claim_record("ns/has", claim_spec(exactly("gpu")), allocated("a", "d1"), "u"),
        claim_record("ns/shares", claim_spec(exactly("gpu")), allocated("b", "s0", **share), "v"),
        claim_record("ns/free", claim_spec(exactly("gpu"), config=SECRET)),
        claim_record(
            "ns/there",
            claim_spec(exactly("gpu")),
            {**allocated("b", "gone"), "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]}},
            "w",
        ),
    ]
    cluster = Cluster()
    apply_events(cluster, events, 0.0)
    found = make_ledger(cluster, SHAPES)
    assert found is not None
    return found


def rooms(ledger: DeviceLedger) -> list[list[int]]:
    return [ledger.count_room(shape).tolist() for shape in range(len(SHAPES))]


def content_of(ledger: DeviceLedger) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ledger.save()["content"].tobytes())
    return found


def again(ledger: DeviceLedger) -> DeviceLedger:
    return restore_ledger(ledger.save(), len(SHAPES), 3)


def test_a_ledger_that_was_read_back_is_the_same():
    made = make()
    read = again(made)
    assert rooms(read) == rooms(made)
    assert read.shared is made.shared is True
    assert [read.find_fault(shape) for shape in range(len(SHAPES))] == [
        made.find_fault(shape) for shape in range(len(SHAPES))
    ]
    assert read.watchers == made.watchers
    assert read.watched == made.watched == {0, 1}
    assert content_of(read) == content_of(made)


def test_also_after_bookings():
    made = make()
    for shape, at in ((1, 1), (0, 2), (2, 0)):
        assert made.book_task(shape, at) is not None
    read = again(made)
    assert rooms(read) == rooms(made) != rooms(make())
    assert content_of(read) == content_of(made)
    assert {name: rows.tolist() for name, rows in read.pending.items()} == {"ns/free": [True, False, False]}
    for ledger in (made, read):
        while ledger.book_task(1, 1) is not None:
            pass
    assert rooms(read) == rooms(made)


def test_what_is_saved():
    content = content_of(make())
    assert content["off"] == []
    assert content["classes"] == {"gpu": '{"selectors": []}', "bad": '{"selectors": [{}]}'}
    assert content["at"] == [0, 1, 2]
    claims = [None if each is None else each["claims"] for each in content["shapes"]]
    assert claims[3] == [{"spec": "", "name": "ns/there", "machines": [0]}]
    assert claims[2] is not None
    assert claims[2][0]["name"] == "ns/free"
    assert "machines" not in claims[2][0]
    assert claims[5] is None
    assert content["shapes"][4] == {"fault": "request r: device class unknown does not exist", "claims": []}
    assert content["pending"] == {}
    assert sorted(each[:2] for each in content["given"]) == [[DRIVER, "a"], [DRIVER, "b"], [DRIVER, "net"]]
    assert [DRIVER, "b", ["gone"], {"s0": [["memory", "3/2"]]}] in content["given"]
    assert [DRIVER, "a", ["d1"], {}] in content["given"]
    assert "secret" not in json.dumps(content)


def test_features_that_are_off_stay_off():
    made = make()
    content = content_of(made)
    content["off"] = [TAINTS]
    read = restore_ledger({"content": np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)}, 7, 3)
    assert content_of(read)["off"] == [TAINTS]


@pytest.mark.parametrize(("shapes", "machines"), [(6, 3), (7, 2), (8, 3)])
def test_the_ledger_of_another_round(shapes: int, machines: int):
    with pytest.raises(MalformedArraysError, match="content is the ledger of another round"):
        restore_ledger(make().save(), shapes, machines)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("shapes", [{}] * 7),
        ("slices", {"s": "{}"}),
        ("slices", 1),
        ("places", [[["x", "y", 1, "1"]]] * 3),
        ("uses", []),
        ("given", [["a"]]),
        ("pending", {"x": [3]}),
        ("off", 1),
    ],
)
def test_ledgers_that_cannot_be_read(field: str, value: Any):
    content = {**content_of(make()), field: value}
    if field == "slices" and isinstance(value, dict):
        content["places"] = [[["x", "y", 1, "1"]]] * 3
    arrays = {"content": np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)}
    with pytest.raises(MalformedArraysError, match="content is no ledger of devices"):
        restore_ledger(arrays, 7, 3)


def test_a_ledger_without_content():
    with pytest.raises(KeyError, match="content"):
        restore_ledger({}, 7, 3)
