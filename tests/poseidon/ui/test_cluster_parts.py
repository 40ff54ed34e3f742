"""Parts of the dashboard's picture of the cluster: evictions, groupings of nodes, order of names, history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from poseidon.ui.cluster.evictions import EVICTED, MOST, MOVED, PREEMPTED, Eviction, EvictionLog
from poseidon.ui.cluster.groupings import ZONE, groupings
from poseidon.ui.cluster.name_order import NameOrder
from poseidon.ui.cluster.requested_history import SAMPLES, RequestedHistory
from poseidon.ui.views.flow.grouping import constraint_of, group_flow, list_rejections
from protos.firmament.v1 import scheduler_pb2 as pb

# --- evictions ------------------------------------------------------------------------------------------------------


@dataclass
class Told:
    reason: str = "EvictionByEvictionAPI"
    message: str = ""
    at: float = 0.0


@dataclass
class Entry:
    uid: str = "u"
    name: str = "ns/a"
    node: str = "n1"
    disruption: Told | None = None
    moves_to: str = ""


def noted(entry: Entry, nominee: str | None = None) -> Eviction | None:
    log = EvictionLog()
    new = log.note(cast(Any, entry), nominee, 50.0)
    assert new is (entry.uid in log)
    return log.newest_first()[0] if new else None


PREEMPTION = "PreemptionByScheduler"


@pytest.mark.parametrize(
    ("entry", "nominee", "kind", "beneficiary"),
    [
        (Entry(disruption=Told()), None, EVICTED, None),
        (Entry(disruption=Told(PREEMPTION)), None, PREEMPTED, None),
        (Entry(disruption=Told(PREEMPTION, "Preempted by pod ns/b on node n1")), None, PREEMPTED, "ns/b"),
        (Entry(disruption=Told(PREEMPTION, "Preempted by group ns/g")), "ns/c", PREEMPTED, "ns/g"),
        (Entry(disruption=Told(PREEMPTION, "for somebody")), "ns/c", PREEMPTED, "ns/c"),
        (Entry(disruption=Told()), "ns/c", PREEMPTED, "ns/c"),
        (Entry(disruption=Told(), moves_to="n2"), None, MOVED, "n2"),
        (Entry(disruption=Told(), moves_to="n2"), "ns/c", PREEMPTED, "ns/c"),
    ],
)
def test_an_eviction_says_who_benefits(entry, nominee, kind, beneficiary):
    assert noted(entry, nominee) == Eviction(50.0, "ns/a", "n1", kind, beneficiary)


def test_the_time_of_the_condition_counts_before_now():
    assert (found := noted(Entry(disruption=Told(at=7.0)))) is not None
    assert found.at == 7.0


def test_pods_that_were_not_asked_to_leave_or_have_no_node_are_no_evictions():
    assert noted(Entry()) is None
    assert noted(Entry(disruption=Told(), node="")) is None


def test_each_eviction_is_noted_once_and_marked_when_its_pod_is_gone():
    log = EvictionLog()
    assert log.note(cast(Any, Entry(disruption=Told(at=1.0))), None, 0.0)
    assert not log.note(cast(Any, Entry(disruption=Told(at=2.0))), None, 0.0)
    log.note_gone("unknown")
    log.note_gone("u")
    assert [(each.at, each.gone) for each in log.newest_first()] == [(1.0, True)]


def test_the_last_evictions_are_kept_newest_first():
    log = EvictionLog()
    for number in range(MOST + 1):
        log.put(str(number), Eviction(float(number), "p", "n", EVICTED, None))
    assert "0" not in log
    assert "1" in log
    assert [each.at for each in log.newest_first()] == [float(number) for number in range(MOST, 0, -1)]


# --- groupings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "keys"),
    [
        ([], [""]),
        ([{"a": "1"}], [""]),
        ([{"a": "1"}, {"a": "1"}], [""]),
        ([{"a": "1"}, {"a": "2"}], ["a", ""]),
        ([{"a": str(index)} for index in range(3)], [""]),
        ([{"a": str(index // 2)} for index in range(6)], ["a", ""]),
        ([{"b": "1", "a": "1"}, {"b": "2", "a": "2"}, {"b": "1"}], ["b", "a", ""]),
        ([{"a": "1", ZONE: "x"}, {"a": "2", ZONE: "y"}, {"a": "1"}], [ZONE, "a", ""]),
        (
            [{"c": str(index % 2), "b": str(index % 3)} for index in range(6)],
            ["c", "b", ""],
        ),
        ([{"d": str(index % 2), "c": str(index % 2)} for index in range(4)], ["c", "d", ""]),
    ],
)
def test_nodes_are_grouped_by_labels_with_few_values(nodes, keys):
    assert groupings(nodes) == keys


def test_well_known_labels_come_first_in_their_order():
    keys = ["node.kubernetes.io/instance-type", "topology.kubernetes.io/region", ZONE, "a"]
    nodes = [dict.fromkeys(keys, str(index % 2)) for index in range(4)]
    assert groupings(nodes) == [keys[2], keys[1], keys[0], "a", ""]


def test_there_are_at_most_thirty_groupings_and_two_hundred_groups():
    many = [{f"k{key:02}": str(index % 2) for key in range(31)} for index in range(4)]
    found = groupings(many)
    assert len(found) == 31
    assert found[-1] == ""
    assert groupings([{"a": str(index % 200)} for index in range(400)]) == ["a", ""]
    assert groupings([{"a": str(index % 201)} for index in range(1000)]) == [""]


# --- names ----------------------------------------------------------------------------------------------------------


def test_names_stay_in_order_while_pods_come_and_go():
    order: Any = NameOrder()
    known: dict[str, str] = {}

    def add(name: str) -> None:
        known[f"u{name}"] = name
        order.add(name, f"u{name}")

    def remove(name: str) -> None:
        del known[f"u{name}"]
        order.remove(f"u{name}")

    assert order.records(known) == []
    for name in "cab":
        add(name)
    assert order.records(known) == ["a", "b", "c"]
    remove("b")
    assert order.records(known) == ["a", "c"]
    numbers = [f"z{index}" for index in range(10)]
    for name in ("b", *numbers):
        add(name)
    remove("z3")
    assert order.records(known) == ["a", "b", "c", *(name for name in numbers if name != "z3")]
    for name in numbers:
        if name != "z3":
            remove(name)
    assert order.records(known) == ["a", "b", "c"]
    add("z3")
    assert order.records(known) == ["a", "b", "c", "z3"]


def test_a_pod_that_comes_again_keeps_its_place():
    order: Any = NameOrder()
    known: dict[str, Any] = {f"u{name}": name for name in "abcdefghij"}
    for uid, name in known.items():
        order.add(name, uid)
    order.records(known)
    order.remove("ua")
    order.add("a", "ua")
    assert order.records(known) == [*"abcdefghij"]


# --- history --------------------------------------------------------------------------------------------------------


def test_samples_are_read_by_slot_from_a_number_on():
    history = RequestedHistory()
    history.add_sample(1.0, 1, [(0, 100, None)])
    history.add_sample(2.0, 2, [(0, 70_000, 65_535), (1, 5, 6)])
    history.add_sample(3.0, 2, [(1, 7, 8)])
    assert history.taken == 3
    assert history.read_slot(0, 0) == {
        "at": [1.0, 2.0, 3.0],
        "cpu": [100, 65_534, None],
        "memory": [None, 65_534, None],
    }
    assert history.read_slot(1, 0) == {"at": [2.0, 3.0], "cpu": [5, 7], "memory": [6, 8]}
    assert history.read_slot(1, 2) == {"at": [3.0], "cpu": [7], "memory": [8]}
    assert history.read_slot(2, 0)["at"] == []


def test_old_samples_are_forgotten_but_their_numbers_go_on():
    history = RequestedHistory()
    for number in range(SAMPLES + 5):
        history.add_sample(float(number), 1, [(0, number, number)])
    assert history.read_slot(0, 0)["at"][0] == 5.0
    assert history.read_slot(0, 5)["at"][0] == 5.0
    assert history.read_slot(0, 6)["at"][0] == 6.0
    assert len(history.read_slot(0, 0)["at"]) == SAMPLES == 120


# --- flows ----------------------------------------------------------------------------------------------------------


def flow_class(tasks: int, placed: int, kept_back: tuple = (), refusals: tuple = ()) -> pb.FlowClass:
    return pb.FlowClass(
        tasks=tasks,
        placed=placed,
        kept_back=[pb.ReasonCount(reason=reason, machines=count) for reason, count in kept_back],
        refusals=[pb.ReasonCount(reason=reason, machines=count) for reason, count in refusals],
    )


@pytest.mark.parametrize(
    ("found", "reason", "listed"),
    [
        (flow_class(2, 2, (("a", 1),)), "", []),
        (flow_class(2, 3, (("a", 1),)), "", []),
        (flow_class(2, 1), "not known", []),
        (flow_class(2, 1, (("b", 1), ("a", 9)), (("c", 5),)), "b", ["b", "a"]),
        (flow_class(2, 1, (), (("c", 1), ("b", 5), ("a", 1))), "b", ["b", "a", "c"]),
    ],
)
def test_a_class_waits_for_its_main_reason(found, reason, listed):
    assert constraint_of(found) == reason
    assert [each.reason for each in list_rejections(found)] == listed


def test_classes_and_machines_are_grouped_by_reason_and_label():
    flow = pb.RoundFlow(
        classes=[
            flow_class(1, 0, (("b", 1),)),
            flow_class(1, 1),
            flow_class(1, 0, (("a", 1),)),
            flow_class(2, 0, (("b", 1),)),
        ],
        machines=["m1", "m2", "m3"],
    )
    found = group_flow(flow, {"m1": "y", "m2": "x", "m3": "y"}.__getitem__)
    assert (found.constraints, found.constraint_of) == (("a", "b"), (1, None, 0, 1))
    assert (found.groups, found.group_of) == (("x", "y"), (1, 0, 1))
