"""Pods that are bound only after others: who is released, and who loses its place."""

from __future__ import annotations

import pytest

from poseidon.lifecycle.pending_bindings import Dependencies, _enumerate_pods
from poseidon.lifecycle.phases import PodRecord
from poseidon.lifecycle.refused_deltas import Kind, Reason, Refusals
from poseidon.pods.tasks import Task


def test_a_pod_is_released_once_all_that_it_depends_on_are_met():
    held = Dependencies()
    held.hold("a", ["x", "y"])
    assert held.holds("a")
    assert not held.holds("x")
    assert held.note_met("x") == []
    assert held.note_met("x") == []
    assert held.note_met("y") == ["a"]
    assert not held.holds("a")
    assert held.note_met("y") == []


def test_one_may_release_several_in_their_order():
    held = Dependencies()
    for uid in ("b", "a", "c"):
        held.hold(uid, ["x"])
    assert held.note_met("x") == ["b", "a", "c"]


def test_a_pod_that_is_dropped_is_neither_released_nor_lost():
    held = Dependencies()
    held.hold("a", ["x"])
    held.hold("b", ["x"])
    held.drop("a")
    held.drop("unknown")
    assert held.note_met("x") == ["b"]
    held.hold("c", ["y"])
    held.drop("c")
    assert held.note_failed("y") == []


def test_who_depends_on_a_pod_that_was_not_bound_is_lost_unless_it_depends_on_it_no_longer():
    held = Dependencies()
    held.hold("a", ["x", "y"])
    held.hold("b", ["y"])
    assert held.note_failed("x") == ["a"]
    assert not held.holds("a")
    assert held.note_failed("x") == []
    assert held.note_met("y") == ["b"]
    held.hold("a", ["x"])
    held.drop("a")
    held.hold("a", ["z"])
    assert held.note_failed("x") == []
    assert held.holds("a")


def record(name: str) -> PodRecord:
    return PodRecord(Task(name, name, None, "", 0, 0.0), schedulable=True)  # type: ignore[arg-type]  # no traits are read


@pytest.mark.parametrize(
    ("others", "text"),
    [
        (["shop/a"], "shop/a"),
        (["shop/b", "shop/a"], "shop/a, shop/b"),
        (["shop/c", "shop/b", "shop/a"], "shop/a, shop/b, shop/c"),
        (["shop/d", "shop/c", "shop/b", "shop/a"], "shop/a, shop/b, shop/c and 1 more"),
        (["shop/a", "other/b"], "shop/a and 1 more"),
        (["other/a"], "another pod"),
        (["other/a", "other/b"], "2 other pods"),
    ],
)
def test_only_pods_of_the_same_namespace_are_named_and_only_some(others, text):
    assert _enumerate_pods(record("shop/me"), [record(each) for each in others]) == text


SUSPICIOUS = {Reason.NO_REASON, Reason.NOT_LOWER, Reason.UNSUPPORTED}


@pytest.mark.parametrize("reason", Reason)
def test_refusals_are_counted_and_those_of_no_honest_solver_told_apart(reason):
    refusals = Refusals()
    for _ in range(2):
        refusals.note(Kind.EVICTION, reason, "p", "words")
    assert refusals.suspicious == (2 if reason in SUSPICIOUS else 0)
    assert refusals.take_counts() == {(Kind.EVICTION, reason): 2}
    assert refusals.take_counts() == {}


@pytest.mark.parametrize(
    ("reason", "level"),
    [(Reason.RATE, "WARNING"), (Reason.NOT_LOWER, "WARNING"), (Reason.GONE, "INFO"), (Reason.UNFIT, "INFO")],
)
def test_the_first_refusal_of_each_kind_is_logged_as_bad_as_it_is(caplog, reason, level):
    refusals = Refusals()
    with caplog.at_level("INFO"):
        refusals.note(Kind.BINDING, reason, "p", "words")
        refusals.note(Kind.BINDING, reason, "q", "words")
        refusals.note(Kind.EVICTION, reason, "p", "words")
    assert [(each.levelname, "pod=p" in each.message) for each in caplog.records] == [(level, True)] * 2
