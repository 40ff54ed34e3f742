"""A further rule about amounts, here over the whole cluster, is one file and its registration.

``namespace_quota.py`` is that file: the kind of rule that a quota is.
"""

from __future__ import annotations

import pytest

from firmament.core.configuration import CoreConfiguration
from firmament.core.events import ClassDefined, TaskRemoved, TasksBound
from firmament.core.rules import registry
from firmament.core.rules.registry import NodeRules
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.core.rules.namespace_quota import FULL, NamespaceQuota
from tests.support.core import Clock, machine, messages, placed, task_class, tasks

SHOP, BANK = task_class(1000, namespace="shop"), task_class(1000, namespace="bank")


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Scheduler:
    """Two machines for four tasks each."""
    monkeypatch.setattr(registry, "LIMIT_RULES", (*registry.LIMIT_RULES, NamespaceQuota()))
    made = Scheduler(
        configuration=CoreConfiguration(rules=NodeRules(registry.DEFAULT)),
        solver=OrToolsSolver(),
        clock=Clock(),
    )
    made.apply([machine("a", cpu=4000), machine("b", cpu=4000)])
    return made


def test_rounds_keep_to_it_and_say_why(core: Scheduler):
    core.apply([*tasks(1, "s0", "s1", "s2", "s3", content=SHOP), *tasks(2, "b0", "b1", content=BANK)])
    result = core.run_round()
    assert set(placed(result)) - {"s0", "s1", "s2", "s3"} == {"b0", "b1"}
    assert len(placed(result)) == 5
    (text,) = messages(result).values()
    assert text.startswith(f"0/2 nodes are available: 2 {FULL}. ")


def test_who_is_on_machines_counts(core: Scheduler):
    core.apply([ClassDefined(1, SHOP), TasksBound("a", 1, ("x", "y")), *tasks(1, "s0", "s1", content=SHOP)])
    assert len(placed(core.run_round())) == 1


def test_explain_names_it_and_counts_a_task_once(core: Scheduler):
    core.apply([*tasks(1, "s0", "s1", "s2", "s3", content=SHOP)])
    there = placed(core.run_round())
    (waits,) = {"s0", "s1", "s2", "s3"} - set(there)
    assert {each.reasons for each in core.explain(waits).machines} == {(FULL,)}
    assert {each.reasons for each in core.explain(next(iter(there))).machines} == {()}


def test_who_waits_is_tried_again_once_some_of_it_is_given_back(core: Scheduler):
    core.apply([*tasks(1, "s0", "s1", "s2", "s3", content=SHOP), *tasks(2, "b0", content=BANK)])
    there = placed(core.run_round())
    assert core.next_round_in() is None
    core.apply([TaskRemoved("b0")])
    core.run_round()
    core.apply([TaskRemoved(next(uid for uid in there if uid != "b0"))])
    assert core.next_round_in() == 0
    assert len(placed(core.run_round())) == 1


def test_what_is_taken_while_a_round_is_solved_counts_when_it_is_closed(core: Scheduler):
    core.apply([*tasks(1, "s0", "s1", "s2", content=SHOP)])
    opened = core.open_round()
    placement = opened.solve()
    core.apply([TasksBound("b", 1, ("x", "y"))])
    assert len(placed(core.close_round(opened, placement))) == 1


def test_it_is_not_asked_where_nobody_states_what_it_reads(core: Scheduler):
    core.apply([*tasks(1, *(f"t{index}" for index in range(6)), content=task_class(1000))])
    assert len(placed(core.run_round())) == 6
