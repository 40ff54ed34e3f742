"""One task's way through the modules: no longer than it was, and as ``docs/architecture.md`` tells it."""

from __future__ import annotations

from tests.documentation.documented_way import DocumentedWay
from tests.support.task_way import on_the_way


def test_a_task_goes_the_way_that_is_told():
    """Join what is read together, and leave out what a task does not need; only a rule with a name of its own adds."""
    way, answer = on_the_way()
    assert [(delta.task, delta.machine) for delta in answer.round.deltas] == [("a", "m1")]
    DocumentedWay("One task's way").check(way)
