"""Reviews of evictions without a cluster: who may go for whom, what stays with whom, and how many may go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from poseidon.lifecycle.evictions.rate import EvictionLimits, EvictionRate
from poseidon.lifecycle.evictions.review import (
    SYSTEM_CRITICAL,
    EvictionReview,
    GangView,
    ProposedRound,
    outranks,
)
from poseidon.lifecycle.phases import PodRecord
from poseidon.lifecycle.refused_deltas import Reason
from poseidon.pod_groups.groups import Groups
from poseidon.pods.tasks import Task
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.pod_groups.objects import pod
from tests.poseidon.pod_groups.test_composites import composite, leaf, put

NOTHING: Any = None


def task(uid: str = "t", priority: int = 0, group: int | None = None) -> Task:
    return Task(uid, f"ns/{uid}", NOTHING, "", priority, 0.0, group_priority=group)


@pytest.mark.parametrize(
    ("preemptor", "victim", "may"),
    [
        ((5, None), (4, None), True),
        ((5, None), (5, None), False),
        ((4, None), (5, None), False),
        ((4, 9), (5, 1), False),
        ((5, 1), (4, 9), True),
        ((5, 2), (5, 1), True),
        ((5, 1), (5, 1), False),
        ((5, 1), (5, 2), False),
        ((5, 2), (5, None), False),
        ((5, None), (5, 1), False),
        ((SYSTEM_CRITICAL - 1, 2), (SYSTEM_CRITICAL - 1, 1), True),
        ((SYSTEM_CRITICAL, 2), (SYSTEM_CRITICAL, 1), False),
        ((SYSTEM_CRITICAL + 1, None), (SYSTEM_CRITICAL, None), True),
    ],
)
def test_who_may_go_for_whom(preemptor, victim, may):
    assert outranks(task("g", *preemptor), task("v", *victim)) is may


def test_evictions_are_limited_over_time():
    now = [0.0]
    rate = EvictionRate(EvictionLimits(per_second=2.0, burst=10), lambda: now[0])
    assert [rate.allows(each) for each in (8, 3, 2, 1)] == [True, False, True, False]
    now[0] = 0.5
    assert [rate.allows(each) for each in (1, 1)] == [True, False]
    now[0] = 100.0
    assert [rate.allows(each) for each in (25, 1)] == [True, False], "those who go together are not divided"
    now[0] = 107.0
    assert not rate.allows(1), "and what comes later waits longer"
    now[0] = 108.0
    assert rate.allows(1)


class Gangs:
    """Gangs by pod, and the pods of gangs that have failed."""

    def __init__(self, gangs: Mapping[str, str], failing: Iterable[str]) -> None:
        self.gangs, self.failing = gangs, set(failing)

    def gang_of(self, uid: str) -> str:
        return self.gangs.get(uid, "")

    def is_failing(self, uid: str) -> bool:
        return uid in self.failing


def place(uid: str, node: str, *after: str) -> pb.Delta:
    return pb.Delta(kind=pb.Delta.PLACE, task=uid, machine=node, depends_on=after)


PRIORITIES = {"a": 1, "b": 1, "c": 1, "same": 9, "high": 9, "high2": 9, "meek": 9}


def review(
    victims: Mapping[str, str],
    *places: pb.Delta,
    unmade: Iterable[str] = (),
    gangs: Mapping[str, str] | None = None,
    failing: Iterable[str] = (),
    burst: int = 100,
    takes: Iterable[tuple[str, str]] = (),
) -> dict[str, tuple[Reason, str]]:
    """The victims (on their nodes) that stay, and why."""
    records: Any = {
        uid: PodRecord(task(uid, priority), schedulable=True) for uid, priority in PRIORITIES.items()
    }
    taken = set(takes)
    found = EvictionReview(
        records,
        Gangs(gangs or {}, failing),  # type: ignore[arg-type]
        EvictionRate(EvictionLimits(per_second=1.0, burst=burst), lambda: 0.0),
        lambda record: record.task.uid != "meek",
        lambda preemptor, victim: (preemptor.task.uid, victim.task.uid) in taken,
    )
    deltas = {uid: pb.Delta(kind=pb.Delta.PREEMPT, task=uid, machine=node) for uid, node in victims.items()}
    staying = found.list_staying(ProposedRound(deltas, places, frozenset(unmade)))
    return {uid: (verdict.reason, verdict.words) for uid, verdict in staying.items()}


def test_a_pod_goes_for_a_more_important_one_that_comes_to_its_node():
    assert review({"a": "n1"}, place("high", "n1", "a")) == {}
    assert review({"a": "n1", "b": "n1"}, place("high", "n1", "a", "b")) == {}
    assert review({"a": "n1"}, place("high", "n1")) == {"a": (Reason.NO_REASON, "nobody needs its place")}
    assert review({"a": "n1"}) == {"a": (Reason.NO_REASON, "nobody needs its place")}
    assert review({"a": "n1"}, place("high", "n2", "a")) == {
        "a": (Reason.NO_REASON, "ns/high comes to another node")
    }
    assert review({"same": "n1"}, place("high", "n1", "same")) == {
        "same": (Reason.NOT_LOWER, "it is no less important than ns/high")
    }
    assert review({"a": "n1"}, place("meek", "n1", "a")) == {"a": (Reason.NOT_LOWER, "ns/meek evicts nobody")}
    assert review({"a": "n1"}, place("unknown", "n1", "a")) == {
        "a": (Reason.NO_REASON, "nobody needs its place")
    }


def test_if_one_stays_none_goes_in_vain():
    vain = (Reason.IN_VAIN, "whoever needs its place cannot come")
    assert review({"a": "n1", "same": "n1"}, place("high", "n1", "a", "same")) == {
        "a": vain,
        "same": (Reason.NOT_LOWER, "it is no less important than ns/high"),
    }
    assert review({"a": "n1"}, place("high", "n1", "a", "stuck"), unmade=["stuck"]) == {"a": vain}
    assert review({"a": "n1"}, place("high", "n1", "a", "stuck")) == {}, "who is no victim leaves anyway"
    assert review(
        {"a": "n1", "same": "n1"}, place("high", "n1", "a", "same"), place("high2", "n1", "a")
    ).keys() == {"same"}, "another one needs its place"


def test_a_chain_of_places_falls_together():
    found = review(
        {"a": "n1"}, place("high", "n1", "high2", "a"), place("high2", "n2", "gone"), unmade=["gone"]
    )
    assert found.keys() == {"a"}


def test_gangs_may_come_to_any_node_of_theirs():
    gangs = {"a": "small", "b": "small", "high": "large", "high2": "large"}
    places = place("high", "n1", "a", "b"), place("high2", "n2")
    assert review({"a": "n1", "b": "n3"}, *places, gangs=gangs) == {}
    assert review({"b": "n3"}, *places, gangs=gangs).keys() == {"b"}
    assert review({"a": "n2"}, *places, gangs=gangs) == {}


def test_pods_of_failed_gangs_go_without_a_preemptor():
    assert review({"a": "n1", "b": "n1"}, failing=["a"]).keys() == {"b"}
    assert review({"a": "n1"}, place("meek", "n1", "a"), failing=["a"]) == {}


def test_a_quota_is_taken_back_on_any_node():
    assert review({"same": "n1"}, place("high", "n2", "same"), takes=[("high", "same")]) == {}
    assert review({"same": "n1"}, place("meek", "n2", "same"), takes=[("meek", "same")]).keys() == {"same"}


def test_those_who_go_for_one_pod_count_together():
    late = (Reason.RATE, "too many pods have been evicted lately")
    places = place("high", "n1", "a", "b"), place("high2", "n2", "c")
    victims = {"a": "n1", "b": "n1", "c": "n2"}
    assert review(victims, *places, burst=3) == {}
    assert review(victims, *places, burst=2) == {"c": late}
    assert review(victims, *reversed(places), burst=2) == {"a": late, "b": late}
    assert review({"a": "n1", "b": "n2"}, failing=["a", "b"], burst=1) == {"b": late}
    assert review({"a": "n1"}, place("high", "n1", "a"), place("high2", "n1", "a"), burst=1) == {}, "once"


def test_pods_leave_with_the_outermost_group_that_is_disrupted_as_a_whole():
    groups = Groups()
    whole: dict[str, Any] = {"all": {}}
    found: Any = NOTHING
    view = GangView(groups, found, found)
    put(groups, composite("root", least=2))
    put(groups, composite("pair", "root", disruption_mode=whole))
    for name, parent, mode in (("a", "pair", whole), ("b", "pair", whole), ("c", "root", {"single": {}})):
        put(groups, leaf(name, parent, disruption_mode=mode))
    put(groups, leaf("alone", least=2, disruption_mode=whole))
    put(groups, leaf("loose", least=2))
    for name in ("a", "b", "c", "alone", "loose"):
        groups.put_pod(name, pod(name, native=name))
    groups.put_pod("none", pod("none"))
    units = {uid: view.find_unit(uid) for uid in ("a", "b", "c", "alone", "loose", "none")}
    assert units["a"] == units["b"] == "pair of CompositePodGroup/default/root"
    assert units["alone"] == "scheduling.k8s.io/PodGroup/default/alone"
    assert (units["c"], units["loose"], units["none"]) == ("", "", "")


def test_without_queues_nobody_on_another_node_goes():
    records: Any = {
        uid: PodRecord(task(uid, priority), schedulable=True) for uid, priority in (("a", 1), ("high", 9))
    }
    gangs: Any = Gangs({}, ())
    rate = EvictionRate(EvictionLimits(), lambda: 0.0)
    found = EvictionReview(records, gangs, rate, lambda _: True)
    victim = {"a": pb.Delta(kind=pb.Delta.PREEMPT, task="a", machine="n1")}
    assert found.list_staying(ProposedRound(victim, (place("high", "n2", "a"),), frozenset())).keys() == {"a"}
    assert found.list_staying(ProposedRound(victim, (place("high", "n1", "a"),), frozenset())) == {}
