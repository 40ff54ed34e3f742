"""Priorities that workloads give to their pods by name of a class, and pods that wait for the class."""

from __future__ import annotations

from poseidon.queues.priorities import WorkloadPriorities

LACK = "queue: WorkloadPriorityClass high does not exist; create it, or name another one"


def test_the_class_of_the_workload_counts_before_the_pods_own_priority():
    values = {"high": 100}
    found = WorkloadPriorities(lambda: values)
    assert found.rank_pod("p", 5) == 5
    found.put("p", "high")
    assert found.rank_pod("p", 5) == 100
    assert found.find_rank("p", 7) == 100
    del values["high"]
    assert found.find_rank("p", 7) == 5
    assert found.find_rank("q", 7) == 7
    found.put("p", "")
    assert found.find_rank("p", 7) == 5
    found.forget("p")
    assert found.find_rank("p", 7) == 7


def test_a_class_of_value_zero_counts():
    found = WorkloadPriorities(lambda: {"none": 0})
    found.put("p", "none")
    assert found.rank_pod("p", 5) == 0
    assert not found.lacks("p")


def test_pods_wait_for_a_class_that_does_not_exist_and_are_told_once_when_it_does():
    values: dict[str, int] = {}
    found = WorkloadPriorities(lambda: values)
    assert not found.lacks("p")
    assert found.explain_lack("p") == ""
    found.put("p", "high")
    found.put("q", "other")
    assert found.lacks("p")
    assert found.explain_lack("p") == LACK
    assert found.explain_lack("q") != ""
    assert found.take_found() == []
    values["high"] = 1
    assert found.take_found() == ["p"]
    assert found.take_found() == []


def test_pods_that_are_gone_or_name_another_class_wait_no_longer():
    values: dict[str, int] = {}
    found = WorkloadPriorities(lambda: values)
    for uid in ("p", "q"):
        found.put(uid, "high")
        found.explain_lack(uid)
    found.forget("p")
    found.put("q", "low")
    values.update(high=1, low=1)
    assert found.take_found() == []
