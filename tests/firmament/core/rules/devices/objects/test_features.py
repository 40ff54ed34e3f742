"""Feature gates that are off: what they are for does not count, or is refused in kube-scheduler's words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from firmament.core.events import RecordRemoved, RecordUpserted
from firmament.core.record_kinds import DEVICE_FEATURES_RECORD
from firmament.core.scheduler import Scheduler
from tests.firmament.core.rules.devices.test_rounds import with_claims
from tests.support.core import machine, messages, placed, scheduler, tasks
from tests.support.devices import class_record, device, exactly, own_claim, slice_record

ALL = exactly("gpu", 1)


def off(*names: str) -> RecordUpserted:
    return RecordUpserted(DEVICE_FEATURES_RECORD, "devices", json.dumps(dict.fromkeys(names, False)).encode())


def core_with(*devices: dict[str, Any], **fields: Any) -> Scheduler:
    made = scheduler()
    made.apply([machine("a", cpu=4000), class_record("gpu"), slice_record("a", devices, **fields)])
    return made


@pytest.mark.parametrize(
    ("gate", "request_of", "words"),
    [
        (
            "DRAPrioritizedList",
            {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "gpu"}]},
            "request r: has subrequests, but the DRAPrioritizedList feature is disabled",
        ),
        (
            "DRAConsumableCapacity",
            exactly("gpu", capacity={"requests": {"memory": "1Gi"}}),
            "request r: has capacity requests, but the DRAConsumableCapacity feature is disabled",
        ),
        (
            "DRAAdminAccess",
            exactly("gpu", adminAccess=True),
            "request r: admin access is requested, but the feature is disabled",
        ),
    ],
)
def test_a_request_for_a_feature_that_is_off_is_refused(gate: str, request_of: Any, words: str):
    core = core_with(device("d", capacity={"memory": {"value": "2Gi"}}))
    core.apply([off(gate), *tasks(1, "t", content=with_claims(own_claim(request_of)))])
    (text,) = messages(core.run_round()).values()
    assert text.startswith(f"0/1 nodes are available: {words}.")
    core.apply([RecordRemoved(DEVICE_FEATURES_RECORD, "devices")])
    assert placed(core.run_round()) == {"t": "a"}


@pytest.mark.parametrize(
    ("gate", "unusual", "placed_before", "placed_after"),
    [
        ("DRADeviceTaints", {"taints": [{"key": "k", "effect": "NoSchedule"}]}, 0, 1),
        ("DRADeviceBindingConditions", {"bindingConditions": ["c"], "bindingFailureConditions": ["f"]}, 1, 0),
        ("DRAConsumableCapacity", {"allowMultipleAllocations": True}, 3, 1),
    ],
)
def test_devices_count_without_what_is_off(
    gate: str, unusual: dict[str, Any], placed_before: int, placed_after: int
):
    for gates, expected in (((), placed_before), ((gate,), placed_after)):
        core = core_with(device("d", **unusual))
        core.apply([off(*gates), *tasks(1, "t0", "t1", "t2", content=with_claims(own_claim(ALL)))])
        assert len(placed(core.run_round())) == expected


def test_partitions_that_are_off_are_no_devices_and_their_pool_stays_whole():
    core = core_with(
        device("part", consumesCounters=[{"counterSet": "s", "counters": {"m": {"value": "1"}}}]),
        device("whole"),
        slices=2,
    )
    counters = {"sharedCounters": [{"name": "s", "counters": {"m": {"value": "4"}}}]}
    core.apply([RecordUpserted("DeviceSlice", "more", slice_record("a", (), slices=2, **counters).payload)])
    core.apply([off("DRAPartitionableDevices"), *tasks(1, "t0", "t1", content=with_claims(own_claim(ALL)))])
    (delta,) = core.run_round().deltas
    assert "whole" in delta.allocations[0].allocation


def test_a_list_matches_nothing_where_lists_are_off():
    listed = {"x": {"strings": ["p", "q"]}}
    core = core_with(*({"name": name, "attributes": listed} for name in ("d0", "d1")))
    constraints = [{"matchAttribute": "gpu.example.com/x"}]
    pair = with_claims(own_claim(exactly("gpu", 2), constraints=constraints))
    core.apply([off("DRAListTypeAttributes"), *tasks(1, "t", content=pair)])
    assert not placed(core.run_round())
    core.apply([off()])
    assert placed(core.run_round()) == {"t": "a"}
