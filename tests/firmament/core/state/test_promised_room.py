"""Room that is kept for tasks: for those that lost their place, and for tasks that other schedulers nominated."""

from __future__ import annotations

import json

import pytest

from firmament.core.events import ClassDefined, Event, MachineRemoved, TaskRemoved, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.resources import ResourceIndex
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.promised_room import ForeignNomination, ForeignNominations
from tests.support.core import machine, task_class
from tests.support.rules import ints


def cluster(*events: Event) -> Cluster:
    """Two machines, and tasks a, b, c of 100 milli-cores with priorities 1, 2, 3."""
    made = Cluster()
    waiting = [TasksSubmitted(1, (uid,), priority=number) for number, uid in enumerate("abc", 1)]
    apply_events(made, [machine("m"), machine("n"), ClassDefined(1, task_class()), *waiting, *events], 0.0)
    made.dirty.clear()
    return made


def cpu(made: Cluster, **options: object) -> list[int] | None:
    found = made.promises.amounts(made, **options)  # type: ignore[arg-type]  # by name
    return None if found is None else found[:, made.resources.names.index("cpu")].tolist()


def promise(made: Cluster, **machines: str) -> None:
    made.promises.machine_of.update(machines)


# --- promises --------------------------------------------------------------------------------------------------------


def test_promises_count_for_pending_tasks_on_known_machines():
    made = cluster()
    assert cpu(made) is None
    promise(made, a="m", b="n", c="n", gone="m")
    assert cpu(made) == [100, 200]
    assert cpu(made, beside={made.tasks.row_of["b"]}) == [100, 100]
    assert cpu(made, least=2) == [0, 200]
    assert cpu(made, least=4) is None
    transitions.assume(made, ints(made.tasks.row_of["a"]), ints(1))
    assert cpu(made) == [0, 200]
    promise(made, b="elsewhere")
    assert cpu(made) == [0, 100]


def test_promises_end_with_their_task_or_machine_and_open_it_to_others():
    made = cluster()
    promise(made, a="m", b="m", c="n", gone="n")
    made.promises.refresh(made)
    assert made.promises.machine_of == {"a": "m", "b": "m", "c": "n"}
    assert made.dirty.machines == {1}
    made.dirty.clear()
    made.tasks.unschedulable[made.tasks.row_of["b"]] = True
    made.promises.refresh(made)
    assert made.promises.machine_of == {"a": "m", "c": "n"}
    assert made.dirty.machines == {0}
    apply_events(made, [TaskRemoved("a"), MachineRemoved("n")], 0.0)
    made.promises.refresh(made)
    assert made.promises.machine_of == {}


def test_a_promise_holds_while_its_task_is_assumed_there():
    made = cluster()
    promise(made, a="m", b="m")
    rows = ints(made.tasks.row_of["a"], made.tasks.row_of["b"])
    transitions.assume(made, rows, ints(0, 1))
    made.promises.refresh(made)
    assert made.promises.machine_of == {"a": "m"}


def test_less_important_tasks_with_promises_take_part():
    made = cluster()
    promise(made, a="m", b="n", c="n")
    rows = made.tasks.row_of
    called = made.promises.list_called
    assert called(made, ints(rows["c"])).tolist() == [rows["a"], rows["b"]]
    assert called(made, ints(rows["b"])).tolist() == [rows["a"]]
    assert called(made, ints(rows["a"])).tolist() == []
    assert called(made, ints()).tolist() == []


def test_members_of_gangs_take_part_only_as_a_whole():
    made = cluster()
    promise(made, a="m")
    made.jobs.gangs.add("g")
    made.tasks.job[made.tasks.row_of["a"]] = "g"
    assert made.promises.list_called(made, ints(made.tasks.row_of["c"])).tolist() == []


# --- other schedulers ------------------------------------------------------------------------------------------------


def payload(where: str = "m", priority: object = 1, **requests: object) -> bytes:
    return json.dumps({"machine": where, "priority": priority, "requests": requests}).encode()


def test_a_nomination_replaces_the_one_before_and_names_both_machines():
    found = ForeignNominations(ResourceIndex())
    assert found.put("u", payload("m", 2, cpu=5)) == ("m",)
    assert found.put("u", payload("n", 3, cpu=6)) == ("m", "n")
    assert found.by_uid == {"u": ForeignNomination("n", 3, {"cpu": 6})}
    assert found.put("u", None) == ("n",)
    assert found.put("u", None) == ()
    assert found.by_uid == {}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (payload(cpu=-3, memory=2**60), ForeignNomination("m", 1, {"cpu": 0, "memory": 2**53})),
        (payload(priority="7", cpu="4"), ForeignNomination("m", 7, {"cpu": 4})),
        (payload(), ForeignNomination("m", 1, {})),
        (b"", None),
        (b"{", None),
        (b"[]", None),
        (b"{}", None),
        (payload(priority=None), None),
        (payload(cpu="much"), None),
        (payload(cpu=float("inf")), None),
    ],
)
def test_what_cannot_be_read_counts_as_gone(content: bytes, expected: ForeignNomination | None):
    found = ForeignNominations(ResourceIndex())
    found.put("u", content)
    assert found.by_uid == ({} if expected is None else {"u": expected})


def test_amounts_are_those_of_tasks_of_at_least_a_priority_on_known_machines():
    made = cluster()
    others = made.promises.others
    assert cpu(made) is None
    for uid, nominated in {
        "x": payload("m", 1, cpu=10),
        "y": payload("m", 2, cpu=20, odd=5),
        "z": payload("n", 3, cpu=40),
        "lost": payload("gone", 9, cpu=80),
    }.items():
        others.put(uid, nominated)
    assert cpu(made) == [30, 40]
    assert cpu(made, least_of_others=2) == [20, 40]
    assert cpu(made, least_of_others=4) is None
    promise(made, a="m")
    assert cpu(made, least_of_others=4) == [100, 0]
    assert [others.highest_below(priority) for priority in (1, 2, 4, 10)] == [None, 1, 3, 9]


def test_a_round_of_more_important_tasks_may_use_what_is_kept_for_others():
    made = cluster()
    rows = {uid: made.tasks.row_of[uid] for uid in "abc"}
    column = made.resources.names.index("cpu")
    assert made.sum_promised_beside(ints(rows["a"])) is None
    made.promises.others.put("x", b'{"machine": "m", "priority": 2, "requests": {"cpu": 50}}')

    def kept(*uids: str) -> list[int]:
        found = made.sum_promised_beside(ints(*(rows[uid] for uid in uids)))
        return [0, 0] if found is None else found[:, column].tolist()

    assert kept("a") == kept("a", "b") == kept() == [50, 0]
    assert kept("c") == kept("a", "c") == [0, 0]
    free = made.free_beside(ints(rows["a"]))[:, column].tolist()
    assert free == [3950, 4000]
