"""Rows of what lasting rules say of a shape: the first cause counts, and rows are kept until machines change."""

from __future__ import annotations

import numpy as np

from firmament.core.events import ClassDefined, Event
from firmament.core.filters.static_rows import StaticRow, StaticRows, static_row
from firmament.core.intake.events import apply_events
from firmament.core.model import Taint, TaskClass
from firmament.core.reasons import Cause, Reason, Stage, StatedReason
from firmament.core.rules.registry import default_rules
from firmament.core.state.cluster import Cluster
from tests.support.core import machine, task_class
from tests.support.rules import ints

A, B = Cause(StatedReason("a")), Cause(StatedReason("b"))
SELECTS = task_class(node_selector=(("zone", "z"),))


def cluster(*contents: TaskClass) -> tuple[Cluster, StaticRows]:
    """Three machines, of which one is cordoned and one has a taint; and classes."""
    made = Cluster()
    events: list[Event] = [
        machine("open", labels={"zone": "z"}),
        machine("cordoned", cordoned=True),
        machine("tainted", taints=[Taint("x", "y", "NoSchedule")]),
        *(ClassDefined(number, content) for number, content in enumerate(contents)),
    ]
    apply_events(made, events, 0.0)
    return made, StaticRows(made.machines, made.classes.shapes, default_rules())


def test_a_further_cause_is_that_of_machines_that_were_open():
    row = StaticRow(np.array([True, False, True]), np.array([-1, 0, -1], dtype=np.int16), (A,))
    found = row.add_refusals(np.array([False, True, True]), B)
    assert found.feasible.tolist() == [True, False, False]
    assert found.code.tolist() == [-1, 0, 1]
    assert found.causes == (A, B)
    assert row.add_refusals(np.array([False, True, False]), B) is row
    assert [(each.cause, each.refused.tolist()) for each in found.refusals()] == [
        (A, [False, True, False]),
        (B, [False, False, True]),
    ]


def test_causes_with_equal_summaries_are_merged():
    ones = [Cause(Reason.UNTOLERATED, f"{{x: {value}}}") for value in "123"]
    causes = (ones[0], A, ones[1], ones[2])
    row = StaticRow(np.array([False] * 4 + [True]), np.array([0, 1, 2, 3, -1], dtype=np.int16), causes)
    merged = row.merge_alike()
    assert merged.causes == (ones[0], A)
    assert merged.code.tolist() == [0, 1, 0, 0, -1]
    assert merged.feasible.tolist() == row.feasible.tolist()
    few = StaticRow(np.array([False, True]), np.array([0, -1], dtype=np.int16), (A,))
    assert few.merge_alike() is few


def test_the_first_rule_that_refuses_is_the_cause_and_unused_causes_are_left_out():
    made, _ = cluster(SELECTS)
    row = static_row(made.machines, SELECTS, default_rules())
    assert row.feasible.tolist() == [True, False, False]
    assert [row.causes[code].reason for code in row.code[1:].tolist()] == [
        Reason.CORDONED,
        Reason.UNTOLERATED,
    ]
    assert len(row.causes) == 2
    both = machine("both", cordoned=True, taints=[Taint("x", "y", "NoSchedule")])
    apply_events(made, [machine("cordoned"), both, machine("tainted")], 0.0)
    row = static_row(made.machines, SELECTS, default_rules())
    assert [row.causes[code].reason for code in row.code[1:].tolist()] == [
        Reason.WRONG_LABELS,
        Reason.WRONG_LABELS,
        Reason.CORDONED,
    ]
    assert len(row.causes) == 2, "the taint is the first cause nowhere"
    invalid = static_row(made.machines, task_class(invalid="odd"), default_rules())
    assert invalid.code.tolist() == [0, 0, 0, 0]
    assert invalid.causes == (Cause(StatedReason("odd", Stage.NAMED)),)


def test_rows_are_kept_until_a_machine_changes_and_shared_by_shapes_that_rules_treat_alike():
    made, rows = cluster(task_class(100), SELECTS, task_class(200))
    first = rows.get_lasting(0)
    assert rows.get_lasting(0) is first
    assert rows.get_lasting(2) is first, "only its requests differ"
    assert rows.get_lasting(1) is not first
    apply_events(made, [machine("cordoned")], 0.0)
    second = rows.get_lasting(0)
    assert (first.feasible.tolist(), second.feasible.tolist()) == ([True, False, False], [True, True, False])
    assert rows.get_lasting(2) is second
    assert rows.get_lasting(0) is second, "once"


def test_rows_follow_their_shapes_and_others_are_dropped():
    _, rows = cluster(task_class(100), SELECTS, task_class(200, tolerations=()))
    by_shape = [rows.get_lasting(shape) for shape in range(2)]
    rows.renumber(ints(1, -1, 0))
    assert rows._rows == {1: by_shape[0]}
    rows.get_lasting(0)
    rows.keep_only({0})
    assert rows._rows.keys() == {0}
    assert list(rows._shared.values()) == [*rows._rows.values()]
