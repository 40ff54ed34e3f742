"""Evictions under way: who waits for whom, what becomes of them if a victim stays, and which are needless."""

from __future__ import annotations

import pytest

from firmament.core.events import ClassDefined, Event, RecordUpserted, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.record_kinds import BUDGET_RECORD
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import PendingEvictions
from tests.support.core import machine, task_class
from tests.support.rules import ints


class Scene:
    """Victims u, v, w on a machine, and tasks a, b, c that are assumed there."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        events: list[Event] = [
            machine("m"),
            ClassDefined(1, task_class()),
            ClassDefined(2, task_class(200)),
            TasksBound("m", 1, ("u", "v"), names=("n/u", "n/v")),
            TasksBound("m", 2, ("w",)),
            TasksSubmitted(1, ("a", "b", "c")),
        ]
        apply_events(self.cluster, events, 0.0)
        self.evictions = PendingEvictions()

    def rows(self, uids: str) -> list[int]:
        return [self.cluster.tasks.row_of[uid] for uid in uids]

    def evict(self, uids: str) -> None:
        self.evictions.record_victims(self.cluster, self.rows(uids))

    def assume(self, uids: str) -> None:
        rows = self.rows(uids)
        transitions.assume(self.cluster, ints(*rows), ints(*[0] * len(rows)))

    def depend(self, uid: str, on: str) -> None:
        (row,) = self.rows(uid)
        self.evictions.record_waiting(self.cluster, list(on), row)

    def leave(self, uid: str) -> None:
        apply_events(self.cluster, [TaskRemoved(uid)], 0.0)

    def names(self, rows: list[int]) -> str:
        return "".join(self.cluster.tasks.uid[row] for row in rows)

    def under_way(self) -> bool:
        return self.evictions.under_way

    def waiting(self) -> str:
        return self.names(sorted(self.evictions.waiting(self.cluster).tolist()))

    def held_up(self) -> str:
        return "".join(uid for uid in "abc" if self.evictions.awaits_victims(self.cluster, self.rows(uid)[0]))

    def needless(self) -> str:
        assert self.evictions.has_needless(self.cluster) == bool(self.evictions._needless)
        return self.names(self.evictions.take_needless(self.cluster))


@pytest.fixture
def scene() -> Scene:
    made = Scene()
    made.evict("uv")
    made.assume("ab")
    made.depend("a", "uv")
    made.depend("b", "v")
    return made


def test_nothing_is_under_way_at_first():
    made = Scene()
    assert made.waiting() == ""
    assert made.under_way() is False
    assert not made.evictions.has_needless(made.cluster)
    made.evict("u")
    assert made.under_way() is True
    assert made.cluster.tasks.leaving[made.rows("uv")].tolist() == [True, False]


def test_tasks_wait_for_victims_until_these_have_left(scene: Scene):
    assert (scene.waiting(), scene.held_up()) == ("ab", "ab")
    assert scene.cluster.tasks.owed[scene.rows("abc")].tolist() == [True, True, False]
    scene.leave("v")
    assert scene.held_up() == "a"
    scene.leave("u")
    assert scene.held_up() == ""
    assert scene.evictions.is_awaited(scene.cluster, scene.rows("abc")) is False


def test_who_depends_on_tasks_that_stay_anyway_waits_for_nobody():
    made = Scene()
    made.assume("a")
    made.depend("a", "uw")
    assert not made.evictions.under_way
    assert not made.cluster.tasks.owed[made.rows("a")].any()


def test_tasks_are_awaited_if_one_of_them_is(scene: Scene):
    assert scene.evictions.is_awaited(scene.cluster, scene.rows("ca"))
    assert not scene.evictions.is_awaited(scene.cluster, scene.rows("c"))
    assert not scene.evictions.is_awaited(scene.cluster, [])


def test_who_waits_for_a_victim_that_stays_loses_its_place(scene: Scene):
    assert scene.names(scene.evictions.cancel_eviction(scene.cluster, *scene.rows("u"))) == "a"
    assert scene.cluster.tasks.leaving[scene.rows("uv")].tolist() == [False, True]
    assert scene.names(scene.evictions.cancel_eviction(scene.cluster, *scene.rows("v"))) == "ab"
    assert scene.evictions.cancel_eviction(scene.cluster, *scene.rows("w")) == []


def test_companions_lose_their_places_together(scene: Scene):
    scene.assume("c")
    scene.evictions.record_companions(scene.cluster, scene.rows("ac"))
    assert scene.cluster.tasks.owed[scene.rows("c")].all()
    assert scene.names(scene.evictions.cancel_eviction(scene.cluster, *scene.rows("u"))) == "ac"


def test_who_was_placed_anew_meanwhile_keeps_its_place(scene: Scene):
    (row,) = scene.rows("a")
    transitions.release(scene.cluster, row)
    scene.assume("a")
    assert scene.evictions.cancel_eviction(scene.cluster, *scene.rows("u")) == []
    assert scene.waiting() == "b"


def test_evictions_that_nobody_waits_for_any_more_are_needless_once(scene: Scene):
    assert scene.needless() == ""
    scene.leave("a")
    assert scene.needless() == "u"
    assert scene.needless() == ""
    scene.leave("b")
    assert scene.needless() == "v"


def test_a_needless_eviction_that_is_counted_on_again_is_not(scene: Scene):
    scene.leave("a")
    assert scene.evictions.has_needless(scene.cluster)
    scene.assume("c")
    scene.depend("c", "u")
    assert scene.needless() == ""
    assert scene.waiting() == "bc"


def test_needless_evictions_of_tasks_that_have_left_are_forgotten(scene: Scene):
    scene.leave("a")
    scene.evictions.waiting(scene.cluster)
    scene.leave("u")
    assert not scene.evictions.has_needless(scene.cluster)
    assert scene.evictions.take_needless(scene.cluster) == []


def test_all_is_forgotten_once_victims_and_those_who_wait_are_gone(scene: Scene):
    scene.evictions.record_companions(scene.cluster, scene.rows("ab"))
    scene.leave("u")
    scene.evictions.forget_gone(scene.cluster)
    assert scene.under_way() is True
    assert scene.evictions.classes() == {0}
    for uid in "vab":
        scene.leave(uid)
    scene.evictions.waiting(scene.cluster)
    scene.evictions.forget_gone(scene.cluster)
    assert scene.under_way() is False
    assert scene.evictions.classes() == frozenset()


def test_classes_of_victims_move_to_new_rows():
    made = Scene()
    made.evict("uw")
    assert made.evictions.classes() == {0, 1}
    made.evictions.renumber(ints(4, 7))
    assert made.evictions.classes() == {4, 7}


def test_evictions_since_a_budget_was_reported_are_counted():
    made = Scene()
    made.evict("u")

    def count(classes: set[int], *counted: str) -> int:
        return made.evictions.count_since_record(
            made.cluster, "budget", frozenset(classes), frozenset(counted)
        )

    assert count({0}) == 1, "without a record"
    apply_events(made.cluster, [RecordUpserted(BUDGET_RECORD, "budget", b"{}")], 0.0)
    assert count({0, 1}) == 0
    made.evict("vw")
    assert count({0, 1}) == 2
    assert count({1}) == 1
    assert count({0, 1}, "n/v") == 1
    assert count({0, 1}, "v") == 2
