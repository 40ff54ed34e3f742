"""The ledger of devices: room is exact, order makes no difference, copies are independent, and the book is right."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.model import ClaimAllocation, Machine
from firmament.core.rules.devices.ledger import DeviceLedger
from firmament.core.rules.devices.rule import make_ledger
from firmament.core.state.cluster import Cluster
from firmament.core.state.device_allocations import DeviceAllocations
from tests.support.core import task_class
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
from tests.support.effort import examples

KIND = 'device.attributes["gpu.example.com"].kind == "{}"'
SHAPES = [
    task_class(100, claims=(own_claim(exactly("gpu")),)),
    task_class(100, claims=(own_claim(exactly("gpu", 1, KIND.format("X"))),)),
    task_class(100, claims=(own_claim(exactly("gpu", 2), exactly("gpu", 1, KIND.format("Y"), name="more")),)),
    task_class(100),
]


MACHINE = Machine("m", {"cpu": 4000})


def some_ledger(draw: Random) -> DeviceLedger:
    cluster = Cluster()
    cluster.keep_record("DeviceClass", "gpu", class_record("gpu").payload)
    for name in ("a", "b", "c"):
        cluster.upsert_machine(replace(MACHINE, name=name))
        devices = [device(f"d{n}", attributes={"kind": draw.choice("XY")}) for n in range(draw.randint(0, 5))]
        cluster.keep_record("DeviceSlice", name, slice_record(name, devices).payload)
    if draw.random() < 0.5:
        devices = [device(f"s{n}", attributes={"kind": draw.choice("XY")}) for n in range(2)]
        cluster.keep_record("DeviceSlice", "net", slice_record("net", devices, allNodes=True).payload)
    found = make_ledger(cluster, SHAPES)
    assert found is not None
    return found


def rooms(ledger: DeviceLedger) -> list[list[int]]:
    return [ledger.count_room(shape).tolist() for shape in range(len(SHAPES))]


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32))
def test_room_is_what_can_be_booked_and_copies_are_independent(seed: int):
    draw = Random(seed)
    ledger = some_ledger(draw)
    for _ in range(4):
        shape, machine = draw.randrange(3), draw.randrange(3)
        before, room = rooms(ledger), int(ledger.count_room(shape)[machine])
        twin = ledger.copy()
        took = twin.book(np.array([shape]), np.array([machine]), np.array([room + 3]))
        exact = machine in ledger.watched or not ledger.table.states[int(ledger.at[machine])].tasks
        assert took.tolist() == [room] if exact else took.tolist() >= [room]
        assert bool(took[0]) == bool(room)
        assert rooms(ledger) == before
        assert ledger.room_at(np.array([shape]), np.array([machine])).tolist() == [room]
        ledger.book(np.array([shape]), np.array([machine]), np.array([1]))


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32))
def test_the_order_of_tasks_makes_no_difference_on_machines_of_their_own(seed: int):
    draw = Random(seed)
    ledger = some_ledger(draw)
    if ledger.shared:
        return
    tasks = [(draw.randrange(3), draw.randrange(3)) for _ in range(6)]
    one = ledger.copy()
    taken = [pair for pair in tasks if one.book_task(*pair) is not None]
    other = ledger.copy()
    draw.shuffle(taken)
    assert all(other.book_task(*pair) is not None for pair in taken)
    assert rooms(one) == rooms(other)


def allocation(*devices: str) -> dict[str, object]:
    results = [{"request": "r", "driver": DRIVER, "pool": "a", "device": name} for name in devices]
    return {"devices": {"results": results}}


def test_a_device_is_held_once_by_a_task_and_its_claim():
    book = DeviceAllocations()
    book.promise("t", (ClaimAllocation("c", "", json.dumps(allocation("d0"))),))
    assert book.get_holders((DRIVER, "a")).keys() == {"d0"}
    book.keep_claim("ns/c", claim_record("ns/c", claim_spec(), allocation("d0"), "t").payload)
    assert book.promised == {}
    assert book.get_holders((DRIVER, "a")).keys() == {"d0"}
    book.withdraw("t")
    assert book.get_holders((DRIVER, "a")).keys() == {"d0"}
    assert book.keep_claim("ns/c", None) == {""}
    assert book.get_holders((DRIVER, "a")) == {}


def test_a_task_that_has_got_nothing_is_not_kept():
    book = DeviceAllocations()
    book.promise("t", ())
    assert not book.promised


def test_a_claim_that_says_something_else_settles_no_promise():
    book = DeviceAllocations()
    book.promise("t", (ClaimAllocation("c", "", json.dumps(allocation("d0"))),))
    book.keep_claim("ns/c", claim_record("ns/c", claim_spec(), allocation("d1"), "t").payload)
    assert book.get_holders((DRIVER, "a")).keys() == {"d0", "d1"}
    book.withdraw("t")
    assert book.get_holders((DRIVER, "a")).keys() == {"d1"}


def test_a_record_that_cannot_be_read_holds_nothing():
    book = DeviceAllocations()
    book.keep_claim("ns/c", claim_record("ns/c", claim_spec(), allocation("d0"), "t").payload)
    for payload in (b"", b"[]", b'{"allocation": 7}', b'{"allocation": {"devices": {"results": [5]}}}'):
        book.keep_claim("ns/c", payload)
        assert book.get_holders((DRIVER, "a")) == {}
