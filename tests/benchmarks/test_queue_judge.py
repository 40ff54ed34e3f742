"""The judge of decisions about queues: what it allows, what it refuses, and which of two decisions it calls better."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from benchmarks.judge.queues.__main__ import main
from benchmarks.judge.queues.cases import Admitted, Case, Decision, Workload
from benchmarks.judge.queues.comparison import compare
from benchmarks.judge.queues.quotas import count_in_case
from benchmarks.judge.queues.rules import list_faults

KEY = "any", "cpu"


def spec(
    nominal: int, *, borrowing: int | None = None, lending: int | None = None, **more: Any
) -> dict[str, Any]:
    stated = {"name": "cpu", "nominalQuota": nominal, "borrowingLimit": borrowing, "lendingLimit": lending}
    return {"resourceGroups": [{"flavors": [{"name": "any", "resources": [stated]}]}], **more}


def queue(
    nominal: int, reclaim: str = "Never", within: str = "Never", borrow: Any = None, **more: Any
) -> dict[str, Any]:
    policies = {"reclaimWithinCohort": reclaim, "withinClusterQueue": within, "borrowWithinCohort": borrow}
    return spec(nominal, cohortName="all", preemption=policies, **more)


def runs(name: str, where: str, cpu: int, priority: int = 0, **more: Any) -> Workload:
    return Workload(name, where, priority, use={"any": {"cpu": cpu}}, **more)


def gets(cpu: int, **places: dict[str, int]) -> Admitted:
    return Admitted({"any": {"cpu": cpu}}, places)


def case(*workloads: Workload, machines: Any = None, **queues: Any) -> Case:
    return Case("case", queues, {}, machines or {}, workloads)


def test_what_is_left_is_counted_by_the_definition():
    cohorts = {"all": spec(2, parentName="top"), "top": spec(1)}
    found = Case("case", {"a": queue(4, lending=1), "b": queue(0, borrowing=2)}, cohorts)
    count = count_in_case(found)
    assert count.count_left("a", KEY) == 7, (
        "3 that it never lends, 1 that it lends, 2 of its cohort, 1 of the top"
    )
    assert count.count_left("b", KEY) == 2, "its limit"
    count.book("a", {"any": {"cpu": 6}})
    assert count.count_left("a", KEY) == 1
    assert count.count_left("b", KEY) == 1
    assert count.count_borrowed("a", KEY) == 2
    count.book("b", {"any": {"cpu": 2}})
    assert count.count_left("b", KEY) == -1
    assert count.list_above("a") == ["a", "cohort all", "cohort top"]


def test_nobody_may_get_more_than_there_is():
    found = case(runs("old", "a", 3), Workload("new", "a"), a=queue(4))
    assert list_faults(found, Decision({"new": gets(1)})) == []
    assert list_faults(found, Decision({"new": gets(2)})) == ["new: a has 1 too little cpu of flavor any"]
    assert list_faults(found, Decision({}, {"new": gets(2)}, ("old",))) != [], "nobody may evict it"


def test_machines_take_no_more_than_they_have():
    old = runs("old", "a", 3, places={"m": {"cpu": 3}})
    found = case(old, Workload("new", "a", 1), machines={"m": {"cpu": 4}}, a=queue(9))
    assert list_faults(found, Decision({"new": gets(1, m={"cpu": 1})})) == []
    assert list_faults(found, Decision({"new": gets(2, m={"cpu": 2})})) == ["machine m: 5 cpu of 4 are used"]
    # A less important one makes room on its machine, whatever the policies of queues.
    assert list_faults(found, Decision({}, {"new": gets(2, m={"cpu": 2})}, ("old",))) == []


@pytest.mark.parametrize(
    ("policies", "priority", "allowed"),
    [
        ({"reclaim": "Any"}, 0, True),
        ({"reclaim": "LowerPriority"}, 1, True),
        ({"reclaim": "LowerPriority"}, 0, False),
        ({"reclaim": "Never"}, 1, False),
        ({"borrow": {"policy": "LowerPriority"}}, 1, True),
        ({"borrow": {"policy": "LowerPriority", "maxPriorityThreshold": -1}}, 1, False),
    ],
)
def test_policies_say_who_may_go_in_another_queue(policies, priority, allowed):
    found = case(runs("old", "b", 4), Workload("new", "a", priority), a=queue(4, **policies), b=queue(0))
    assert (list_faults(found, Decision({}, {"new": gets(4)}, ("old",))) == []) is allowed


def test_who_borrows_nothing_of_it_stays():
    found = case(
        runs("old", "b", 4), runs("own", "a", 4), Workload("new", "a", 1), a=queue(4, "Any"), b=queue(4)
    )
    assert list_faults(found, Decision({}, {"new": gets(4)}, ("old",))) == [
        "old: nobody who comes may evict it"
    ]


@pytest.mark.parametrize(
    ("within", "priority", "allowed"),
    [
        ("LowerPriority", 1, True),
        ("LowerPriority", 0, False),
        ("LowerOrNewerEqualPriority", 0, True),
        ("Never", 1, False),
    ],
)
def test_policies_say_who_may_go_in_the_same_queue(within, priority, allowed):
    found = case(
        runs("old", "a", 4, created=5.0), Workload("new", "a", priority, 1.0), a=queue(4, within=within)
    )
    assert (list_faults(found, Decision({}, {"new": gets(4)}, ("old",))) == []) is allowed


def test_nobody_leaves_in_vain():
    found = case(
        runs("one", "b", 2), runs("two", "b", 2), Workload("new", "a"), a=queue(4, "Any"), b=queue(0)
    )
    assert list_faults(found, Decision({}, {"new": gets(2)}, ("one", "two"))) == [
        "one: leaves in vain",
        "two: leaves in vain",
    ]
    assert list_faults(found, Decision({}, {"new": gets(2)}, ("two",))) == []
    assert list_faults(found, Decision({}, {"new": Admitted()}, ("one", "two"))) == [], (
        "nobody knows what it needs"
    )


def test_decisions_are_compared_by_who_is_admitted_then_by_victims_then_by_what_is_borrowed():
    workloads = (runs("v0", "b", 1), runs("v1", "b", 1, 1), Workload("high", "a", 1), Workload("low", "a"))
    found = case(*workloads, a=queue(2), b=queue(2))
    high, low = Decision({"high": gets(1)}), Decision({"low": gets(1)})
    assert compare(found, high, low) == ("better", "admitted by priority")
    assert compare(found, low, high) == ("worse", "admitted by priority")
    assert compare(found, Decision({"high": gets(1), "low": gets(1)}), high)[0] == "better"
    for evicted in (("v0",), ("v1",), ("v0", "v1")):
        assert compare(found, high, Decision({}, {"high": gets(1)}, evicted)) == (
            "better",
            "victims by priority",
        )
    mild, harsh = (Decision({}, {"high": gets(1)}, (victim,)) for victim in ("v0", "v1"))
    assert compare(found, mild, harsh) == ("better", "victims by priority")
    assert compare(found, Decision({"high": gets(3)}), high) == ("worse", "borrowed amount")
    assert compare(found, high, Decision({"high": Admitted()}, evicted=None)) == ("equal", "")


def test_the_command_names_what_is_not_allowed(tmp_path):
    workloads = runs("old", "a", 3), Workload("new", "a")
    right, wrong = Decision({"new": gets(1)}), Decision({"new": gets(2)})
    base = case(*workloads, a=queue(4))
    cases = [
        msgspec.structs.replace(base, name=name, decisions={"here": here, "kueue": right})
        for name, here in (("good", right), ("bad", wrong), ("late", Decision()))
    ]
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, cases)))
    result = CliRunner().invoke(main, [str(path)])
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "bad: same, not allowed, worse by borrowed amount",
        "    new: a has 1 too little cpu of flavor any",
        "late: differs, allowed, worse by admitted by priority",
        "3 cases: 2 same, 1 worse; 1 not allowed; of kueue 0",
    ]
    path.write_bytes(msgspec.json.encode(cases[0]))
    assert CliRunner().invoke(main, [str(path)]).exit_code == 0
