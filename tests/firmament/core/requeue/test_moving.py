"""Tasks that wait until others have left their machine, and take room that becomes free meanwhile."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cost_models.interface import Assessment, JointRows, MachineColumns, ShapeBatch
from firmament.core.configuration import WeightedModel
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    JobDefined,
    MachineRemoved,
    RecordUpserted,
    TaskRemoved,
    TasksSubmitted,
)
from firmament.core.model import HostPort, Job, TaskSelector, TaskTerm
from firmament.core.record_kinds import FOREIGN_NOMINATION_RECORD
from firmament.core.results import Delta, DeltaKind, RoundResult
from firmament.core.scheduler import Scheduler
from tests.firmament.core.preemption.test_preemption import running, wanted
from tests.firmament.core.rules.devices.test_preemption import holder
from tests.firmament.core.rules.devices.test_rounds import with_claims
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, scheduler, task_class, tasks
from tests.support.devices import class_record, device, exactly, own_claim, slice_record
from tests.support.models import Stated
from tests.support.rules import app

WITHDRAWN = Delta(DeltaKind.PREEMPT, "big", "m", withdrawn=True)


def waiting(**content: Any) -> Scheduler:
    """A scheduler in which p waits on m until big has left it."""
    made = scheduler(machine("m"), running("m", "big", cpu=3000), wanted("p", cpu=2000, **content))
    assert moves(made.run_round()) == {"p": ("m", ("big",))}
    assert made.next_round_in() is None
    return made


def moves(result: RoundResult) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {
        each.uid: (each.machine, each.depends_on) for each in result.deltas if each.kind is DeltaKind.PLACE
    }


def states(made: Scheduler) -> dict[str, tuple[str, str]]:
    return {each.uid: (each.state, each.machine) for each in made.task_states()}


def free(made: Scheduler) -> dict[str, int]:
    return {each.name: each.free["cpu"] for each in made.machine_states()}


def test_a_machine_that_comes_is_taken_and_nobody_has_to_go():
    made = waiting()
    made.apply([machine("n")])
    assert made.next_round_in() == 0
    assert made.run_round().deltas == (Delta(DeltaKind.PLACE, "p", "n"), WITHDRAWN)
    made.report([BindingReport("big", "m", bound=False), BindingReport("p", "n", bound=True)])
    assert states(made) == {"big": ("BOUND", "m"), "p": ("BOUND", "n")}
    assert free(made) == {"m": 1000, "n": 2000}
    assert made.next_round_in() is None


def test_one_that_goes_all_the_same_leaves_its_room_to_others():
    made = waiting()
    made.apply([machine("n")])
    made.run_round()
    made.apply([*tasks(3, "late", content=task_class(3500)), TaskRemoved("big")])
    assert moves(made.run_round()) == {"late": ("m", ())}
    assert free(made) == {"m": 500, "n": 2000}


def test_room_on_the_very_machine_is_enough():
    made = scheduler(
        machine("m"),
        running("m", "big", cpu=2000),
        running("m", "other", cpu=2000, priority=20),
        wanted("p", cpu=2000),
    )
    made.run_round()
    made.apply([TaskRemoved("other")])
    assert made.next_round_in() == 0
    assert made.run_round().deltas == (Delta(DeltaKind.PLACE, "p", "m"), WITHDRAWN)
    made.report([BindingReport("big", "m", bound=False), BindingReport("p", "m", bound=True)])
    assert free(made) == {"m": 0}


def test_one_that_is_left_out_of_a_round_stays_and_is_told_nothing():
    """As while the solver finds out with which class its rounds fail."""
    made = scheduler(
        machine("m"),
        running("m", "big", cpu=2000),
        running("m", "other", cpu=2000, priority=20),
        wanted("p", cpu=2000),
    )
    made.run_round()
    late = task_class(100)
    made.apply([TaskRemoved("other"), *tasks(7, "late", content=late)])
    opened = made.open_round(only=frozenset({late}))
    result = made.close_round(opened, opened.solve())
    assert moves(result) == {}
    assert states(made)["p"] == ("ASSUMED", "m")


def test_too_little_room_moves_nobody():
    made = waiting()
    made.apply([machine("n", cpu=1999)])
    assert made.next_round_in() is None


def test_equally_important_tasks_without_a_place_come_first():
    made = waiting()
    made.apply([machine("n", cpu=2000), TasksSubmitted(2, ("q",), priority=10)])
    assert made.run_round().deltas == (Delta(DeltaKind.PLACE, "q", "n"),)
    assert states(made)["p"] == ("ASSUMED", "m")


def test_less_important_tasks_come_after_it():
    made = waiting()
    made.apply([machine("n", cpu=2000), *tasks(3, "low", content=task_class(2000))])
    result = made.run_round()
    assert moves(result) == {"p": ("n", ())}
    assert WITHDRAWN in result.deltas


def test_only_as_many_move_as_there_is_room_for():
    made = scheduler(
        machine("m"), machine("o"), running("m", "a", cpu=4000), running("o", "b", cpu=4000),
        wanted("p", "q", cpu=3000),
    )  # fmt: skip
    assert len(moves(made.run_round())) == 2
    made.apply([machine("n")])
    result = made.run_round()
    assert len(moves(result)) == 1
    assert sum(delta.withdrawn for delta in result.deltas) == 1
    assert made.next_round_in() is None


def test_nobody_is_evicted_for_a_move():
    made = waiting()
    made.apply([machine("n"), *running("n", "r", cpu=3000)])
    assert made.next_round_in() is None


def test_one_that_waits_for_a_task_that_leaves_anyway_moves_too():
    made = scheduler(
        machine("m"), running("m", "big", cpu=3000, terminating=True), running("m", "low", cpu=1),
        wanted("p", cpu=2000),
    )  # fmt: skip
    assert made.run_round().deltas == (Delta(DeltaKind.PLACE, "p", "m", depends_on=("big",)),)
    made.apply([machine("n")])
    assert made.run_round().deltas == (Delta(DeltaKind.PLACE, "p", "n"),)


# --- what happens while a round is solved ----------------------------------------------------------------------------


def raced(made: Scheduler, *events: object) -> RoundResult:
    """A round after machine n has come, with events or reports between its opening and its closing."""
    made.apply([machine("n")])
    opened = made.open_round()
    placement = opened.solve()
    for event in events:
        if isinstance(event, BindingReport):
            made.report([event])
        else:
            made.apply([event])  # type: ignore[list-item]  # an event
    return made.close_round(opened, placement)


def test_one_that_is_bound_meanwhile_stays():
    made = waiting()
    result = raced(made, TaskRemoved("big"), BindingReport("p", "m", bound=True))
    assert result.deltas == ()
    assert states(made) == {"p": ("BOUND", "m")}
    assert free(made) == {"m": 2000, "n": 4000}


def test_one_that_is_reported_as_bound_meanwhile_stays_although_nothing_else_has_changed():
    made = waiting()
    result = raced(made, BindingReport("p", "m", bound=True))
    assert moves(result) == {}
    assert states(made) == {"big": ("BOUND", "m"), "p": ("BOUND", "m")}
    assert free(made) == {"m": -1000, "n": 4000}


def test_one_whose_place_becomes_free_meanwhile_stays():
    made = waiting()
    assert raced(made, TaskRemoved("big")).deltas == ()
    assert states(made) == {"p": ("ASSUMED", "m")}


def test_one_whose_new_place_is_gone_meanwhile_keeps_the_old():
    made = waiting()
    assert raced(made, MachineRemoved("n")).deltas == ()
    assert states(made) == {"big": ("BOUND", "m"), "p": ("ASSUMED", "m")}
    assert free(made) == {"m": -1000}
    made.report([BindingReport("big", "m", bound=False)])
    assert states(made)["p"][0] == "BACKOFF"  # it still counted on big
    assert free(made) == {"m": 1000}


def test_one_whose_new_place_is_taken_meanwhile_keeps_the_old():
    made = waiting()
    assert raced(made, running("n", "r", cpu=3000)[0], running("n", "r", cpu=3000)[1]).deltas == ()
    assert states(made)["p"] == ("ASSUMED", "m")
    made.apply([TaskRemoved("r")])
    assert moves(made.run_round()) == {"p": ("n", ())}


def test_one_whose_victim_is_let_off_meanwhile_is_placed_like_any_other():
    made = waiting()
    result = raced(made, BindingReport("big", "m", bound=False))
    assert result.deltas == (Delta(DeltaKind.PLACE, "p", "n"),)
    assert free(made) == {"m": 1000, "n": 2000}


def test_one_that_is_deleted_meanwhile_is_gone():
    made = waiting()
    assert raced(made, TaskRemoved("p")).deltas == (WITHDRAWN,)
    assert free(made) == {"m": 1000, "n": 4000}


# --- who is left alone -----------------------------------------------------------------------------------------------


def test_members_of_gangs_keep_their_places():
    made = scheduler(
        machine("m"),
        running("m", "a", "b", cpu=2000),
        JobDefined(Job("g", min_members=2)),
        [replace(event, job="g") if isinstance(event, TasksSubmitted) else event
         for event in wanted("p", "q", cpu=2000)],
    )  # fmt: skip
    assert len(moves(made.run_round())) == 2
    made.apply([machine("n")])
    assert made.next_round_in() != 0
    assert made.run_round().deltas == ()


@pytest.mark.parametrize(
    "content",
    [
        {"anti_affinity": (TaskTerm("kubernetes.io/hostname", TaskSelector(namespaces=("x",))),)},
        {"labels": (("app", "seen"),)},
    ],
)
def test_tasks_that_rules_concern_keep_their_places(content):
    term = TaskTerm("kubernetes.io/hostname", TaskSelector(labels=(), namespaces=("",)))
    made = scheduler(
        machine("m", labels={"kubernetes.io/hostname": "m"}),
        running("m", "big", cpu=3000),
        running("m", "keeper", cpu=1, priority=30, preferred_anti_affinity=(replace(term, weight=1),)),
        wanted("p", cpu=2000, **content),
    )
    assert moves(made.run_round()) == {"p": ("m", ("big",))}
    made.apply([machine("n", labels={"kubernetes.io/hostname": "n"})])
    assert made.next_round_in() is None


HOST = "kubernetes.io/hostname"


def host(name: str, **content: Any) -> Event:
    return machine(name, labels={HOST: name}, **content)


@pytest.mark.parametrize(
    "content",
    [
        {"ports": (HostPort(80),)},
        {"labels": (("app", "w"),), "anti_affinity": (TaskTerm(HOST, app("w", namespaces=("",))),)},
    ],
)
def test_tasks_that_only_keep_away_from_others_move_to_where_those_are_not(content: dict[str, Any]):
    made = scheduler(
        host("m"),
        host("o", cpu=3000),
        running("m", "big", cpu=3000),
        running("o", "alike", cpu=1000, priority=30, **content),
        wanted("p", cpu=2000, **content),
    )
    assert moves(made.run_round()) == {"p": ("m", ("big",))}
    made.apply([TaskRemoved("nobody"), host("o", cpu=5000)])
    assert made.run_round().deltas == ()
    made.apply([host("n")])
    assert made.run_round().deltas == (Delta(DeltaKind.PLACE, "p", "n"), WITHDRAWN)


def test_a_port_that_somebody_has_yet_to_leave_is_waited_for():
    """The machine has the resources, and is marked; what keeps the task out is the port alone."""
    port: dict[str, Any] = {"ports": (HostPort(80),)}
    made = scheduler(
        host("m"),
        running("m", "big", cpu=1000, **port),
        running("m", "other", cpu=1000, priority=20),
        wanted("p", cpu=1000, **port),
    )
    assert moves(made.run_round()) == {"p": ("m", ("big",))}
    made.apply([TaskRemoved("other")])
    assert made.run_round().deltas == ()
    assert states(made)["p"] == ("ASSUMED", "m")
    made.apply([TaskRemoved("big")])
    made.report([BindingReport("p", "m", bound=True)])
    assert states(made) == {"p": ("BOUND", "m")}


def test_a_task_that_others_want_to_be_near_keeps_its_place():
    near = (TaskTerm(HOST, app("w", namespaces=("",))),)
    made = scheduler(
        host("m"),
        running("m", "big", cpu=3000),
        wanted("p", cpu=2000, labels=(("app", "w"),)),
        tasks(7, "friend", content=task_class(100, affinity=near), priority=10),
    )
    assert moves(made.run_round())["p"] == ("m", ("big",))
    made.apply([host("n")])
    assert "p" not in moves(made.run_round())


def two_on_m(machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
    """Machine m takes one more task than are there when the first round begins, others refuse all."""
    row_of = np.array([0 if name == "m" else -1 for name in machines.names], dtype=np.int64)
    feasible = np.tile(np.array([name == "m" for name in machines.names]), (shapes.count, 1))
    rows = JointRows(row_of, np.ones(shapes.count, dtype=np.int64), np.array([1]), "full")
    return Assessment(raw=np.zeros((shapes.count, 1)), feasible=feasible, joint=(rows,), reason="closed")


def test_models_are_asked_and_one_that_refuses_is_not_asked_again():
    made = scheduler(
        machine("m"),
        running("m", "big", cpu=2000),
        running("m", "other", cpu=2000, priority=20),
        wanted("p", cpu=2000),
        overlays=(WeightedModel(Stated(two_on_m, name="two")),),
    )
    assert moves(made.run_round()) == {"p": ("m", ("big",))}
    made.apply([machine("n"), TaskRemoved("other")])
    assert made.next_round_in() == 0
    assert made.run_round().deltas == ()  # n is refused, and on m the model has a say of its own
    assert made.next_round_in() is None
    assert states(made)["p"] == ("ASSUMED", "m")


def test_one_that_a_round_must_leave_out_takes_the_room_in_the_next():
    """As room that another scheduler keeps separates it from those that are more important."""
    made = waiting()
    kept = {"machine": "far", "priority": 50, "requests": {"cpu": 100}}
    made.apply(
        [
            machine("far", cpu=200),
            RecordUpserted(FOREIGN_NOMINATION_RECORD, "theirs", json.dumps(kept).encode()),
            machine("n", cpu=2500),
            *tasks(9, "above", content=task_class(100), priority=90),
        ]
    )
    assert moves(made.run_round()) == {"above": ("n", ())}
    assert made.next_round_in() == 0
    assert moves(made.run_round()) == {"p": ("n", ())}


# --- room on the very machine ----------------------------------------------------------------------------------------


def beside_another(*more: Event | list[Event], **content: Any) -> Scheduler:
    """A scheduler in which p waits on m for big, although it would have room there once ``other`` is gone."""
    made = scheduler(
        machine("m", memory=8),
        running("m", "big", cpu=2000),
        running("m", "other", cpu=2000, priority=20),
        wanted("p", cpu=2000, **content),
        *more,
    )
    assert moves(made.run_round()) == {"p": ("m", ("big",))}
    return made


def test_what_others_have_too_much_of_does_not_matter_to_who_asks_for_none_of_it():
    made = beside_another(running("m", "greedy", cpu=0, memory=9, priority=30))
    made.apply([TaskRemoved("other")])
    assert made.run_round().deltas == (Delta(DeltaKind.PLACE, "p", "m"), WITHDRAWN)


def test_it_is_not_enough_where_the_order_of_arrival_matters():
    made = beside_another()
    made._cluster.tasks.displacing[made._cluster.tasks.row_of["p"]] = True
    made.apply([TaskRemoved("other")])
    assert moves(made.run_round()) == {}
    assert states(made)["p"] == ("ASSUMED", "m")


def test_a_task_that_has_got_its_place_anew_since_is_not_moved_for_what_was_before():
    made = waiting()
    cluster, row = made._cluster, made._cluster.tasks.row_of["p"]
    arrival_number = int(cluster.tasks.arrival_number[row])
    for noted, due in ((arrival_number, True), (arrival_number - 1, False)):
        made._requeue.moves._requeued = {row: noted}
        assert made._requeue.moves.due(cluster) is due


def test_it_is_not_enough_on_a_machine_that_is_closed_meanwhile():
    made = beside_another()
    made.apply([TaskRemoved("other"), machine("m", memory=8, cordoned=True)])
    assert moves(made.run_round()) == {}
    assert states(made)["p"] == ("ASSUMED", "m")


def test_it_is_not_enough_for_a_task_that_draws_on_a_quota():
    """The quota may have been given to others until the victims have left."""
    made = beside_another(flavor("any"), quota("team", {"any": {"cpu": 9000}}), queue="team")
    made.apply([TaskRemoved("other")])
    assert moves(made.run_round()) == {}
    assert states(made)["p"] == ("ASSUMED", "m")


def test_a_task_that_got_devices_with_its_place_keeps_it():
    both = [slice_record(name, [device("d0")]) for name in ("a", "b")]
    claiming = ClassDefined(1, with_claims(own_claim(exactly("gpu", 1))))
    made = scheduler(
        class_record("gpu"), machine("a"), both, claiming, holder("v", "a", "d0"),
        TasksSubmitted(1, ("p",), priority=10),
    )  # fmt: skip
    assert moves(made.run_round()) == {"p": ("a", ("v",))}
    made.apply([machine("b")])
    assert made.next_round_in() is None
    assert states(made)["p"] == ("ASSUMED", "a")
