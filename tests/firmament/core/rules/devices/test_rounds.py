"""Devices in rounds: given once, held until records say so, and given back."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import pytest

from firmament.core.events import (
    BindingReport,
    ClassDefined,
    JobDefined,
    RecordRemoved,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import (
    Job,
    TaskClaim,
    TaskClass,
)
from firmament.core.record_kinds import DEVICE_CLAIM_RECORD
from firmament.core.results import RoundResult
from firmament.core.scheduler import Scheduler
from tests.support.core import machine, messages, placed, scheduler, task_class, tasks
from tests.support.devices import (
    claim_record,
    claim_spec,
    class_record,
    device,
    exactly,
    list_devices,
    own_claim,
    slice_record,
)


def with_claims(*claims: TaskClaim) -> TaskClass:
    return replace(task_class(100), claims=claims)


ONE = with_claims(own_claim(exactly("gpu")))


@pytest.fixture
def core() -> Scheduler:
    """Two machines with two devices each."""
    made = scheduler()
    made.apply([machine("a", cpu=4000), machine("b", cpu=4000), class_record("gpu")])
    for name in ("a", "b"):
        made.apply([slice_record(name, [device("d0"), device("d1")])])
    return made


def given(result: RoundResult) -> dict[str, list[tuple[str, str]]]:
    """Devices by task, of all its claims."""
    return {
        delta.uid: [each for claim in delta.allocations for each in list_devices(claim.allocation)]
        for delta in result.deltas
    }


def test_tasks_get_devices_of_their_machines_and_none_is_given_twice(core: Scheduler):
    core.apply(tasks(1, "t0", "t1", "t2", "t3", "t4", content=ONE))
    result = core.run_round()
    found = given(result)
    assert len(found) == 4
    assert sorted(each for devices in found.values() for each in devices) == [
        ("a", "d0"),
        ("a", "d1"),
        ("b", "d0"),
        ("b", "d1"),
    ]
    assert all(devices[0][0] == placed(result)[uid] for uid, devices in found.items())
    (text,) = messages(result).values()
    assert text.startswith("0/2 nodes are available: 2 cannot allocate all claims.")


def test_an_allocation_names_the_claim_the_device_and_the_machine(core: Scheduler):
    core.apply(tasks(1, "t0", content=ONE))
    (delta,) = core.run_round().deltas
    (allocation,) = delta.allocations
    assert (allocation.name, allocation.claim) == ("c", "")
    content = json.loads(allocation.allocation)
    assert content["devices"]["results"] == [
        {"request": "r", "driver": "gpu.example.com", "pool": delta.machine, "device": "d0"}
    ]
    (term,) = content["nodeSelector"]["nodeSelectorTerms"]
    assert term == {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [delta.machine]}]}


def test_an_allocation_names_the_requests_that_each_configuration_is_for():
    made = scheduler(machine("a"), slice_record("a", [device("d0"), device("d1"), device("d2")]))
    made.apply([class_record("gpu", config=[{"opaque": {"driver": "x", "parameters": {"of": "class"}}}])])
    configurations = [
        {"opaque": {"driver": "x", "parameters": {"of": "all"}}},
        {"requests": ["two"], "opaque": {"driver": "x", "parameters": {"of": "two"}}},
        {"requests": ["other/b"], "opaque": {"driver": "x", "parameters": {"of": "other"}}},
    ]
    listed = [{**exactly("gpu", count)["exactly"], "name": name} for name, count in (("a", 1), ("b", 2))]
    claim = own_claim(
        exactly("gpu", name="two"), {"name": "other", "firstAvailable": listed}, config=configurations
    )
    made.apply(tasks(1, "t0", content=with_claims(claim)))
    [allocation] = made.run_round().deltas[0].allocations
    found = json.loads(allocation.allocation)["devices"]["config"]
    assert [(each["opaque"]["parameters"]["of"], each.get("requests")) for each in found] == [
        ("class", ["two", "other/a"]),
        ("all", None),
        ("two", ["two"]),
    ]


def test_devices_stay_with_a_task_until_its_placement_fails(core: Scheduler):
    core.apply(tasks(1, "t0", "t1", "t2", "t3", content=ONE))
    result = core.run_round()
    core.apply(tasks(1, "t4", content=ONE))
    assert not placed(core.run_round())
    lost = placed(result)["t0"]
    core.report([BindingReport("t0", lost, bound=False, retry=False)])
    assert placed(core.run_round()) == {"t4": lost}


def test_devices_come_back_when_the_task_and_its_claim_are_gone(core: Scheduler):
    core.apply(tasks(1, "t0", "t1", "t2", "t3", content=ONE))
    result = core.run_round()
    there = placed(result)
    for uid, machine_name in there.items():
        (allocation,) = next(delta for delta in result.deltas if delta.uid == uid).allocations
        core.report([BindingReport(uid, machine_name, bound=True)])
        core.apply(
            [claim_record(f"ns/{uid}", claim_spec(exactly("gpu")), json.loads(allocation.allocation), uid)]
        )
    core.apply(tasks(1, "t4", content=ONE))
    assert not placed(core.run_round())
    core.apply([TaskRemoved("t0")])
    assert not placed(core.run_round()), "the claim still has the device"
    core.apply([RecordRemoved(DEVICE_CLAIM_RECORD, "ns/t0")])
    assert placed(core.run_round()) == {"t4": there["t0"]}


def test_what_claims_have_is_known_after_a_restart(core: Scheduler):
    allocation = {
        "devices": {"results": [{"driver": "gpu.example.com", "pool": "a", "device": "d0", "request": "r"}]}
    }
    core.apply([claim_record("ns/old", claim_spec(exactly("gpu")), allocation, "old")])
    core.apply(
        [ClassDefined(1, ONE), TasksBound("a", 1, ("old",)), *tasks(1, "t0", "t1", "t2", "t3", content=ONE)]
    )
    found = given(core.run_round())
    assert sorted(each for devices in found.values() for each in devices) == [
        ("a", "d1"),
        ("b", "d0"),
        ("b", "d1"),
    ]


def test_a_claim_of_several_tasks_is_allocated_once_and_keeps_them_together(core: Scheduler):
    shared = with_claims(TaskClaim("c", "ns/shared"))
    core.apply(
        [
            claim_record("ns/shared", claim_spec(exactly("gpu", 2))),
            *tasks(1, "t0", "t1", "t2", content=shared),
        ]
    )
    result = core.run_round()
    there = placed(result)
    assert len(there) == 3
    assert len(set(there.values())) == 1
    allocations = {each for delta in result.deltas for each in delta.allocations}
    assert len(allocations) == 1
    (allocation,) = allocations
    assert allocation.claim == "ns/shared"
    core.apply(
        [claim_record("ns/shared", claim_spec(exactly("gpu", 2)), json.loads(allocation.allocation), "t0")]
    )
    core.apply(tasks(1, "t3", content=shared))
    later = core.run_round()
    assert placed(later) == {"t3": there["t0"]}
    assert later.deltas[0].allocations == ()


def test_a_task_whose_claim_does_not_exist_waits_for_it(core: Scheduler):
    core.apply(tasks(1, "t0", content=with_claims(TaskClaim("c", "ns/late"))))
    assert not placed(core.run_round())
    core.apply([claim_record("ns/late", claim_spec(exactly("gpu")))])
    assert placed(core.run_round()).keys() == {"t0"}


def test_new_slices_and_classes_let_tasks_in(core: Scheduler):
    core.apply(tasks(1, "t0", content=with_claims(own_claim(exactly("nic")))))
    assert not placed(core.run_round())
    core.apply([class_record("nic", 'device.attributes["gpu.example.com"].kind == "nic"')])
    assert not placed(core.run_round())
    core.apply([slice_record("b", [device("n0", attributes={"kind": "nic"})])])
    assert placed(core.run_round()) == {"t0": "b"}


def test_explain_says_where_devices_would_serve_a_task(core: Scheduler):
    core.apply(tasks(1, "t0", "t1", content=with_claims(own_claim(exactly("gpu", 2)))))
    assert len(placed(core.run_round())) == 2
    core.apply(tasks(1, "t2", content=with_claims(own_claim(exactly("gpu", 2)))))
    core.run_round()
    assert {each.reasons for each in core.explain("t2").machines} == {("cannot allocate all claims",)}
    assert any(each.feasible for each in core.explain("t0").machines)


def test_devices_that_several_machines_see_are_given_to_one(core: Scheduler):
    core.apply([class_record("fabric", 'device.attributes["gpu.example.com"].kind == "fabric"')])
    core.apply([slice_record("net", [device("f0", attributes={"kind": "fabric"})], allNodes=True)])
    for name in ("a", "b"):
        core.apply([slice_record(name, [device("d0", attributes={"kind": "gpu"})])])
    core.apply(tasks(1, "t0", "t1", content=with_claims(own_claim(exactly("fabric")))))
    result = core.run_round()
    assert list(given(result).values()) == [[("net", "f0")]]
    (allocation,) = result.deltas[0].allocations
    assert "nodeSelector" not in json.loads(allocation.allocation)


def test_tasks_of_a_round_are_served_together_whatever_their_order(core: Scheduler):
    """The first device suits both, the second only those who do not care."""
    core.apply(
        [slice_record("a", [device("d0", attributes={"big": True}), device("d1", attributes={"big": False})])]
    )
    core.apply([slice_record("b", [])])
    picky = with_claims(own_claim(exactly("gpu", 1, 'device.attributes["gpu.example.com"].big')))
    core.apply([*tasks(1, "any", content=ONE, priority=5), *tasks(2, "big", content=picky)])
    assert given(core.run_round()) == {"any": [("a", "d1")], "big": [("a", "d0")]}


def test_tasks_share_a_device_by_parts_of_its_capacity(core: Scheduler):
    shared = device("d0", allowMultipleAllocations=True, capacity={"memory": {"value": "8Gi"}})
    core.apply([slice_record("a", [shared]), slice_record("b", [])])
    third = with_claims(own_claim(exactly("gpu", 1, capacity={"requests": {"memory": "3Gi"}})))
    core.apply(tasks(1, "t0", "t1", "t2", content=third))
    result = core.run_round()
    found = [json.loads(delta.allocations[0].allocation)["devices"]["results"][0] for delta in result.deltas]
    assert [each["consumedCapacity"] for each in found] == [{"memory": "3Gi"}] * 2
    assert len({each["shareID"] for each in found}) == 2
    core.apply(
        tasks(
            2,
            "rest",
            content=with_claims(own_claim(exactly("gpu", 1, capacity={"requests": {"memory": "2Gi"}}))),
        )
    )
    assert placed(core.run_round()) == {"rest": "a"}


def test_a_gang_gets_devices_for_all_or_none(core: Scheduler):
    core.apply([JobDefined(Job("g", min_members=5))])
    core.apply([ClassDefined(1, ONE), TasksSubmitted(1, tuple(f"g{n}" for n in range(5)), job="g")])
    assert not placed(core.run_round())
    core.apply([slice_record("b", [device("d0"), device("d1"), device("d2")])])
    found = given(core.run_round())
    assert len(found) == len({each for devices in found.values() for each in devices}) == 5


@pytest.mark.parametrize(
    ("request_of", "words"),
    [
        (exactly("nothing"), "request r: device class nothing does not exist"),
        (
            exactly("gpu", 1, "device.nothing == 1"),
            "2 cannot allocate all claims: CEL compile error: devices have no field 'nothing'",
        ),
        (exactly("gpu", 40), "the claim asks for 40 devices; at most 32 are possible"),
    ],
)
def test_messages_say_what_is_wrong_with_a_claim(core: Scheduler, request_of: Any, words: str):
    core.apply(tasks(1, "t0", content=with_claims(own_claim(request_of))))
    (text,) = messages(core.run_round()).values()
    assert text.startswith(f"0/2 nodes are available: {words}.")


def test_a_round_without_claims_does_not_run_the_rule(core):
    core.apply([ClassDefined(1, task_class(10)), ClassDefined(2, ONE)])
    core.apply([claim_record("x", claim_spec(exactly("gpu")), None, "t"), TasksBound("a", 2, ("t",))])
    called = set()

    def note(frame, event, _):
        if event == "call" and "/rules/devices/" in frame.f_code.co_filename:
            called.add(frame.f_code.co_name)

    is_called = {}
    for task_number, count in ((1, 2), (1, 100), (2, 1)):
        core.apply([TasksSubmitted(task_number, tuple(f"{task_number}-{count}-{n}" for n in range(count)))])
        called.clear()
        former = sys.getprofile()
        sys.setprofile(note)
        try:
            assert len(core.run_round().deltas) == count
        finally:
            sys.setprofile(former)
        is_called[task_number, count] = bool(called)
    assert is_called == {(1, 2): False, (1, 100): False, (2, 1): True}
