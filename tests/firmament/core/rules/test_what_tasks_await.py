"""Which tasks that come or go may help a waiting task: by whom it awaits, whom it keeps off, and shared amounts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firmament.core.events import ClassDefined, Event
from firmament.core.intake.events import apply_events
from firmament.core.model import HostPort, TaskClass
from firmament.core.rules.what_tasks_await import (
    any_waits,
    list_awaited,
    list_excluded_selectors,
    list_pools,
    selects,
)
from firmament.core.state.cluster import Cluster
from tests.firmament.core.rules.quotas.quota_scene import quota
from tests.support.core import task_class
from tests.support.rules import app, near, spread


def cluster(*events: Event) -> Cluster:
    made = Cluster()
    apply_events(made, list(events), 0.0)
    return made


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (task_class(), False),
        (task_class(anti_affinity=near("web")), True),
        (task_class(spread=spread("web")), True),
        (task_class(ports=(HostPort(80),)), True),
        (task_class(queue="team"), True),
        (task_class(node_selector=(("a", "b"),)), False),
    ],
)
def test_who_waits_for_more_than_room_on_the_machine_of_another(content: TaskClass, expected: bool):
    assert any_waits(cluster(ClassDefined(1, content))) is expected


def test_tasks_draw_on_the_pool_at_the_top_of_their_queue():
    made = cluster(
        quota("top", {"any": {"cpu": 9}}), quota("team", {"any": {"cpu": 1}}, parent="top"), quota("own")
    )
    assert list_pools(made, task_class(queue="team")) == {("Quotas", "top")}
    assert list_pools(made, task_class(queue="own")) == {("Quotas", "own")}
    assert list_pools(made, task_class(queue="unknown")) == set()
    assert list_pools(made, task_class()) == set()


def test_selectors_are_those_of_required_rules_in_the_tasks_own_namespace():
    content = TaskClass(
        namespace="n",
        affinity=near("a"),
        anti_affinity=near("b"),
        preferred_affinity=near("c", weight=1),
        preferred_anti_affinity=near("d", weight=1),
        spread=(*spread("e"), *spread("f", required=False)),
    )
    own = {name: replace(app(name), namespaces=("n",)) for name in "abe"}
    assert list_awaited(content) == [own["a"], own["b"], own["e"]]
    assert list_excluded_selectors(content) == [own["b"]]
    assert list_awaited(TaskClass()) == list_excluded_selectors(TaskClass()) == []


def test_a_class_selects_another_by_any_of_its_terms():
    labelled = [task_class(labels=(("app", name),), namespace="n") for name in "abc"]
    both = task_class(namespace="n", affinity=near("a"), anti_affinity=near("c"))
    made = cluster(*(ClassDefined(number, each) for number, each in enumerate([*labelled, both])))
    assert [selects(made, 3, cls) for cls in range(4)] == [True, False, True, False]
    assert not selects(made, 0, 1), "it has no terms"
