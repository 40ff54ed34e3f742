"""Which waiting classes an event may help, and which machines would take one of their tasks."""

from __future__ import annotations

import pytest

from cost_models.group_terms import GROUP_RECORD
from cost_models.interface import Needs
from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.filters.static_rows import StaticRows
from firmament.core.intake.events import apply_events
from firmament.core.model import Job, TaskClass
from firmament.core.queue.gang_reservations import GangReservation, KeptPart
from firmament.core.queue.reservations import Reservation, Reservations
from firmament.core.requeue.queueing_hints import EvictionRanks, FeasibleMachines, QueueingHints, requeue
from firmament.core.rules.registry import default_rules
from firmament.core.state.cluster import Cluster
from tests.firmament.core.rules.quotas.quota_scene import quota
from tests.support.core import machine, task_class
from tests.support.rules import ints, near, spread


def labelled(name: str, **content: object) -> TaskClass:
    return task_class(labels=(("app", name),), **content)  # type: ignore[arg-type]  # fields by name


CLASSES = {
    "plain": labelled("plain"),
    "web": labelled("web"),
    "loner": labelled("loner", anti_affinity=near("web")),
    "follower": labelled("follower", affinity=near("web")),
    "fond": labelled("fond", preferred_affinity=near("web", weight=1)),
    "spreader": labelled("spreader", spread=spread("web")),
    "guard": labelled("guard", anti_affinity=near("plain")),
    "queued": labelled("queued", queue="team"),
    "beside": labelled("beside", queue="other"),
    "alien": labelled("alien", queue="apart"),
    "paired": task_class(labels=(("pair", "x"),)),
    "partner": task_class(labels=(("pair", "y"),)),
}
ROWS = {name: row for row, name in enumerate(CLASSES)}


def cluster(*events: Event, needs: Needs | None = None) -> Cluster:
    made = Cluster(needs or Needs())
    defined = [ClassDefined(number, content) for number, content in enumerate(CLASSES.values())]
    quotas = [
        quota("top", {"any": {"cpu": 9}}),
        quota("team", parent="top"),
        quota("other", parent="top"),
        quota("apart"),
    ]
    apply = [machine("m", labels={"zone": "a"}), machine("n"), *defined, *quotas, *events]
    apply_events(made, apply, 0.0)
    return made


def helped(*touched: str, domains: bool = False, kinds: bool = False) -> set[str]:
    made = cluster(needs=Needs(kind_labels=("pair",)) if kinds else None)
    hints = QueueingHints(made, [ROWS[name] for name in touched], domains_changed=domains)
    return {name for name, row in ROWS.items() if hints.may_help(row)}


@pytest.mark.parametrize(
    ("touched", "expected"),
    [
        ((), set()),
        (("plain",), {"guard"}),
        (("web",), {"loner", "follower", "spreader"}),
        (("loner",), {"web"}),
        (("follower",), set()),
        (("guard",), {"plain"}),
        (("guard", "web"), {"plain", "loner", "follower", "spreader"}),
        (("queued",), {"queued", "beside"}),
        (("beside",), {"queued", "beside"}),
        (("alien",), {"alien"}),
        (("paired",), set()),
    ],
)
def test_tasks_that_came_or_went_help_whom_they_concern(touched: tuple[str, ...], expected: set[str]):
    assert helped(*touched) == expected


def test_changed_domains_help_all_with_rules_about_other_tasks():
    awaiting = {"loner", "follower", "spreader", "guard"}
    assert helped(domains=True) == awaiting | {"web", "plain"}
    assert helped(domains=True, kinds=True) == awaiting | {"web", "plain", "paired", "partner"}


def test_partners_in_pairs_help_each_other():
    assert helped("paired", kinds=True) == {"paired", "partner"}
    assert helped("web", kinds=True) == {"loner", "follower", "spreader"}


# --- machines --------------------------------------------------------------------------------------------------------


class Scene:
    """Machines a, b and c (cordoned) with 1000, 300 and 1000 milli-cores, and classes of some sizes."""

    def __init__(self, *events: Event) -> None:
        self.cluster = Cluster()
        classes = [
            ClassDefined(1, task_class(300)),
            ClassDefined(2, task_class(301)),
            ClassDefined(3, task_class(300, machine="b")),
            ClassDefined(4, task_class(300, never_preempts=True)),
            ClassDefined(5, task_class(0)),
        ]
        machines = [machine("a", cpu=1000), machine("b", cpu=300), machine("c", cpu=1000, cordoned=True)]
        apply_events(self.cluster, [*machines, *classes, *events], 0.0)
        self.reservations = Reservations(RoundOptions())
        rules = default_rules()
        self.feasible = FeasibleMachines(
            self.cluster,
            StaticRows(self.cluster.machines, self.cluster.classes.shapes, rules),
            self.reservations,
        )

    def takes(self, number: int, *rows: int, members: tuple[int, ...] = (0,)) -> list[int]:
        cls = self.cluster.classes.row(number)
        where = ints(*(rows or (0, 1, 2)))
        return self.feasible.find_feasible(where, self.cluster.free()[where], cls, ints(*members)).tolist()

    def evicts(self, number: int, task: str) -> bool:
        where = ints(0, 1, 2)
        return self.feasible.by_evictions(
            where,
            self.cluster.free()[where],
            self.cluster.classes.row(number),
            ints(self.cluster.tasks.row_of[task]),
            EvictionRanks(self.cluster),
        )


def waiting(number: int, uid: str, priority: int = 0) -> TasksSubmitted:
    return TasksSubmitted(number, (uid,), priority=priority)


def test_machines_take_tasks_by_rules_room_and_pins():
    scene = Scene(waiting(1, "t"))
    assert scene.takes(1) == [0, 1]
    assert scene.takes(2) == [0]
    assert scene.takes(3) == [1]
    assert scene.takes(3, 0) == []
    assert scene.takes(1, 2) == []
    assert scene.feasible.find_feasible(ints(), scene.cluster.free()[ints()], 0, ints(0)).tolist() == []


def test_what_is_not_requested_may_be_overcommitted():
    scene = Scene(waiting(5, "t"), TasksBound("b", 2, ("over",)))
    assert scene.takes(5) == [0, 1]
    assert scene.takes(1) == [0]


def test_reserved_machines_are_closed_to_others_of_equal_priority():
    scene = Scene(waiting(1, "t", 4), waiting(1, "u", 6))
    own = scene.cluster.classes.row(2)
    scene.reservations.held = [Reservation("x", "a", own, 5, 9, 99.0)]
    assert scene.takes(1) == [1]
    assert scene.takes(1, members=(0, 1)) == [0, 1]
    assert scene.takes(2) == [0]


def test_a_machine_kept_for_a_gang_takes_its_members_whoever_waits_with_them():
    scene = Scene(
        JobDefined(Job("g", min_members=2)),
        TasksSubmitted(1, ("g-0",), job="g"),
        TasksSubmitted(1, ("single",)),
    )
    cls = scene.cluster.classes.row(1)
    scene.reservations.gangs.held["g"] = GangReservation("g", 0, [KeptPart("a", cls, 1)], 5, 1e9)
    assert scene.takes(1, members=(0,)) == [0, 1]
    assert scene.takes(1, members=(1,)) == [1]
    assert scene.takes(1, members=(0, 1)) == [0, 1]


def test_evictions_of_less_important_tasks_make_room():
    scene = Scene(
        TasksBound("a", 2, ("x", "y", "z"), priority=3),
        TasksBound("b", 3, ("w",), priority=5),
        waiting(1, "t", 4),
    )
    assert scene.takes(1) == []
    assert scene.evicts(1, "t")
    assert not scene.evicts(4, "t")
    low = Scene(
        TasksBound("a", 2, ("x", "y", "z"), priority=3), TasksBound("b", 3, ("w",)), waiting(2, "t", 3)
    )
    assert not low.evicts(2, "t"), "the only one below it is on a machine that is too small"
    assert low.evicts(1, "t")
    assert not Scene(waiting(1, "t", 9)).evicts(2, "t"), "nobody runs"


# --- tried again -----------------------------------------------------------------------------------------------------


def requeued(scene: Scene, choose: object = None, placed: frozenset[int] = frozenset()) -> list[str] | None:
    tasks = scene.cluster.tasks
    chosen = choose or (lambda rows: rows)
    if not requeue(scene.feasible, chosen, placed):  # type: ignore[arg-type]
        return None
    return [tasks.uid[row] for row in range(len(tasks.uid)) if not tasks.unschedulable[row]]


def aside(*events: Event) -> Scene:
    scene = Scene(*events)
    scene.cluster.dirty.clear()
    tasks = scene.cluster.tasks
    tasks.unschedulable[: len(tasks.uid)] = True
    return scene


def test_nothing_is_tried_again_without_a_change():
    scene = aside(waiting(1, "t"))
    assert requeued(scene) is None
    scene.cluster.dirty.machines.add(0)
    scene.cluster.tasks.unschedulable[0] = False
    assert requeued(scene) is None, "nobody is aside"


def test_tasks_are_tried_again_that_a_changed_machine_takes():
    scene = aside(waiting(1, "small"), waiting(2, "large"), waiting(3, "pinned"))
    scene.cluster.dirty.machines.add(1)
    assert requeued(scene) == ["small", "pinned"]
    assert scene.cluster.dirty.machines == {1}


def test_all_are_tried_again_if_all_machines_may_have_changed():
    scene = aside(waiting(1, "t"), waiting(2, "u"))
    scene.cluster.tasks.refused[1] = True
    scene.cluster.dirty.everywhere = True
    assert requeued(scene) == ["t"]


def test_only_those_that_are_chosen_are_looked_at():
    scene = aside(waiting(1, "t"), waiting(1, "u"))
    scene.cluster.dirty.machines.add(0)
    assert requeued(scene, lambda rows: rows[:0]) is None
    assert requeued(scene, lambda rows: rows[:1]) == ["t"]


def test_tasks_are_tried_again_for_which_others_could_leave():
    scene = aside(TasksBound("b", 1, ("x",), priority=1), waiting(1, "t", 5), waiting(1, "u", 1))
    scene.cluster.dirty.machines.add(1)
    scene.cluster.tasks.cls[2] = scene.cluster.classes.row(3)
    assert requeued(scene) == ["t"]


def test_groups_over_a_tree_are_tried_again_when_labels_have_changed():
    """Whatever the machines refuse: the tree may be another one now."""
    rules = RecordUpserted(GROUP_RECORD, "g", b'{"group": "g", "constraints": {}}')
    scene = Scene(
        rules, JobDefined(Job("g", min_members=2)), TasksSubmitted(4, ("g-0",), job="g"), waiting(4, "t")
    )
    scene.cluster.needs = Needs(records=(GROUP_RECORD,))
    scene.cluster.tasks.unschedulable[:] = True
    scene.cluster.dirty.clear()
    scene.cluster.dirty.domains_changed = True
    assert requeued(scene) == ["g-0"]
