"""How many pods wait for what, as metrics say it."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.bridge.unschedulable_plugins import OTHER, PLUGINS
from poseidon.bridge.waiting_pod_metrics import QUEUES, QueueDepths, queue_of
from poseidon.lifecycle.phases import Phase, PodRecord

NO_TASK: Any = None


def record(*, schedulable: bool = True, **fields: Any) -> PodRecord:
    return PodRecord(NO_TASK, schedulable, **fields)


CASES = [
    (record(), "active"),
    (record(message="no room"), "unschedulable"),
    (record(group_wait="g", message="m"), "group"),
    (record(claims_wait="c"), "claims"),
    (record(priority_wait="p", group_wait="g", claims_wait="c"), "priority_class"),
    (record(group_wait="g", claims_wait="c"), "group"),
    (record(fault="f", priority_wait="p"), "set_aside"),
    (record(schedulable=False, fault="f"), ""),
    (record(node="n"), ""),
    (record(binding="n"), ""),
    (record(phase=Phase.WAITING, binding="n"), "leaving_room"),
    (record(phase=Phase.WAITING, schedulable=False), "leaving_room"),
]


@pytest.mark.parametrize(("found", "queue"), CASES)
def test_the_queue_of_a_pod(found, queue):
    assert queue_of(found) == queue


def test_pods_are_counted_when_asked():
    fit = "0/1 nodes are available: 1 Insufficient cpu."
    records = [each for each, _ in CASES] + [record(message=fit)] * 3
    queues, plugins = QueueDepths(lambda: records).collect()
    counted = {each.labels["queue"]: each.value for each in queues.samples}
    assert list(counted) == list(QUEUES)
    assert counted == {
        "active": 1,
        "unschedulable": 4,
        "group": 2,
        "claims": 1,
        "priority_class": 1,
        "set_aside": 1,
        "leaving_room": 2,
    }
    named = {each.labels["plugin"]: each.value for each in plugins.samples}
    assert list(named) == list(PLUGINS)
    assert named["NodeResourcesFit"] == 3
    assert named[OTHER] == 1
    assert sum(named.values()) == 4
    assert [each.samples for each in QueueDepths(list).describe()] == [[], []]
