"""The facade: rounds, reports, back-off, parking, questions."""

from __future__ import annotations

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.model import (
    BindingReport,
    MachineRemoved,
    MachineSampled,
    NodeSelectorTerm,
    PreferredTerm,
    RecordRemoved,
    RecordUpserted,
    Requirement,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.results import DeltaKind
from firmament.core.scheduler import Counts, UnknownTaskError
from tests.support.core import START, Clock, machine, messages, placed, scheduler, task_class, tasks, uids


def accepted(uid: str, name: str) -> BindingReport:
    return BindingReport(uid, name, bound=True)


def refused(uid: str, name: str, *, retry: bool = True) -> BindingReport:
    return BindingReport(uid, name, bound=False, reason="conflict", retry=retry)


# --- a round ---------------------------------------------------------------------------------------------------------


def test_nothing_to_do():
    core = scheduler()
    assert core.next_round_in() is None
    result = core.run_round()
    assert (result.round, result.deltas, result.unscheduled) == (1, (), ())
    assert core.last_network_dimacs() == ""


def test_a_round_places_what_waits():
    core = scheduler(machine("m"), tasks(1, "b", "a"))
    assert core.next_round_in() == 0.0
    result = core.run_round()
    assert [(delta.kind, delta.uid, delta.machine) for delta in result.deltas] == [
        (DeltaKind.PLACE, "b", "m"),
        (DeltaKind.PLACE, "a", "m"),
    ]
    stats = result.stats
    assert (stats.machines, stats.tasks, stats.classes, stats.placed, stats.pending) == (1, 2, 1, 2, 0)
    assert stats.certified
    assert stats.gap == 0.0
    assert core.next_round_in() is None


def test_counts_follow_a_task_through_its_states():
    core = scheduler(machine("m", cpu=100), tasks(1, "a", "b"))
    assert core.counts() == Counts(machines=1, pending=2, assumed=0, bound=0, rounds=0)
    core.run_round()
    assert core.counts() == Counts(machines=1, pending=1, assumed=1, bound=0, rounds=1)
    core.report([accepted("a", "m")])
    assert core.counts() == Counts(machines=1, pending=1, assumed=0, bound=1, rounds=1)
    core.apply([TaskRemoved("a"), MachineRemoved("m")])
    assert core.counts() == Counts(machines=0, pending=1, assumed=0, bound=0, rounds=1)


def test_without_machines_the_message_says_so():
    core = scheduler(tasks(1, "t"))
    assert messages(core.run_round()) == {
        "t": "0/0 nodes are available: no nodes available to schedule pods."
    }
    assert core.next_round_in() is None


def test_the_oldest_tasks_of_a_class_go_first():
    core = scheduler(machine("m", cpu=200))
    core.apply(tasks(1))
    core.apply([TasksSubmitted(1, ("young", "old", "middle"), created=(30.0, 10.0, 20.0))])
    assert [delta.uid for delta in core.run_round().deltas] == ["old", "middle"]


@pytest.mark.parametrize(("seconds", "first"), [(0.5, "cheap"), (61.0, "patient")])
def test_a_long_wait_outweighs_a_preference(seconds: float, first: str):
    clock = Clock()
    preferred = PreferredTerm(1, NodeSelectorTerm(labels=(Requirement("zone", "In", ("b",)),)))
    core = scheduler(
        machine("m", cpu=100, labels={"zone": "a"}),
        machine("cordoned", labels={"zone": "b"}, cordoned=True),
        tasks(1, "patient", content=task_class(preferred=(preferred,))),
        clock=clock,
    )
    clock.advance(seconds)
    core.apply(tasks(2, "cheap"))
    assert list(placed(core.run_round())) == [first]


def test_messages_are_told_once():
    core = scheduler(machine("m", cpu=50), tasks(1, "t"))
    assert messages(core.run_round()) == {"t": "0/1 nodes are available: 1 Insufficient cpu."}
    core.apply([TasksSubmitted(1, ("u",))])
    assert messages(core.run_round()) == {"u": "0/1 nodes are available: 1 Insufficient cpu."}
    core.apply([machine("m", cpu=50, cordoned=True), TasksSubmitted(1, ("v",))])
    assert messages(core.run_round()) == {"v": "0/1 nodes are available: 1 node(s) were unschedulable."}
    assert [state.message for state in core.task_states()] == [
        "0/1 nodes are available: 1 Insufficient cpu.",
        "0/1 nodes are available: 1 Insufficient cpu.",
        "0/1 nodes are available: 1 node(s) were unschedulable.",
    ]


def test_tasks_that_can_never_be_placed_say_why():
    core = scheduler(machine("m"), tasks(1, "t", content=task_class(invalid="the selector is malformed")))
    assert messages(core.run_round()) == {"t": "the selector is malformed"}


# --- events during a solve -------------------------------------------------------------------------------------------


def test_events_during_a_solve_are_respected():
    core = scheduler(
        machine("gone"),
        machine("cordoned"),
        machine("filled"),
        machine("kept"),
        *(
            tasks(number, name, content=task_class(cpu=4_000, machine=name))
            for number, name in enumerate(("gone", "cordoned", "filled", "kept"), start=1)
        ),
        tasks(9, "deleted", content=task_class(cpu=0)),
    )
    opened = core.open_round()
    placement = opened.solve()
    assert int(placement.assignments.count.sum()) == 5
    core.apply(
        [
            MachineRemoved("gone"),
            machine("cordoned", cordoned=True),
            *tasks(5),
            TasksBound("filled", 5, ("foreign",)),
            TaskRemoved("deleted"),
        ]
    )
    result = core.close_round(opened, placement)
    assert placed(result) == {"kept": "kept"}
    assert core.counts().pending == 3
    assert all(min(state.free.values()) >= 0 for state in core.machine_states())


def test_a_uid_that_returns_as_another_task_during_a_solve_is_not_placed():
    core = scheduler(machine("m"), tasks(1, "t"), tasks(2, content=task_class(cpu=200)))
    opened = core.open_round()
    placement = opened.solve()
    core.apply([TaskRemoved("t"), TasksSubmitted(2, ("t",))])
    assert placed(core.close_round(opened, placement)) == {}
    assert placed(core.run_round()) == {"t": "m"}


def test_a_task_that_changed_class_during_a_solve_is_tried_again():
    core = scheduler(machine("m", cpu=500), tasks(1, "t", content=task_class(cpu=1_000)), tasks(2))
    opened = core.open_round()
    placement = opened.solve()
    core.apply([TasksSubmitted(2, ("t",))])
    assert placed(core.close_round(opened, placement)) == {}
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"t": "m"}


def test_a_machine_that_appears_during_a_solve_wakes_what_found_no_place():
    core = scheduler(machine("m", cpu=50), tasks(1, "t"))
    opened = core.open_round()
    placement = opened.solve()
    core.apply([machine("n")])
    core.close_round(opened, placement)
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"t": "n"}


def test_rows_that_moved_during_a_solve_do_not_mislead_it():
    names = [f"m{index}" for index in range(4)]
    core = scheduler(
        *(machine(name) for name in names),
        *(tasks(n, f"t-{name}", content=task_class(machine=name)) for n, name in enumerate(names, start=1)),
    )
    opened = core.open_round()
    placement = opened.solve()
    core.apply([MachineRemoved("m0")])
    assert placed(core.close_round(opened, placement)) == {"t-m1": "m1", "t-m2": "m2", "t-m3": "m3"}


# --- reports ---------------------------------------------------------------------------------------------------------


def test_a_refused_binding_gives_its_room_back_and_is_tried_elsewhere():
    clock = Clock()
    core = scheduler(machine("m"), tasks(1, "t"), clock=clock)
    core.run_round()
    core.report([refused("t", "m")])
    assert next(core.machine_states()).tasks == 0
    assert [state.state for state in core.task_states()] == ["BACKOFF"]
    assert core.next_round_in() == 1.0
    assert placed(core.run_round()) == {}
    clock.advance(1.0)
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"t": "m"}


def test_the_back_off_doubles_up_to_its_cap():
    clock = Clock()
    core = scheduler(machine("m"), tasks(1, "t"), clock=clock)
    waits = []
    for _ in range(9):
        assert placed(core.run_round()) == {"t": "m"}
        core.report([refused("t", "m")])
        wait = core.next_round_in()
        assert wait is not None
        waits.append(wait)
        clock.advance(wait)
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]


def test_the_back_off_is_configurable_and_starts_anew_after_a_success():
    clock = Clock()
    options = RoundOptions(first_backoff=0.5, last_backoff=1.5)
    core = scheduler(machine("m"), tasks(1, "t"), clock=clock, options=options)
    for expected in (0.5, 1.0, 1.5, 1.5):
        core.run_round()
        core.report([refused("t", "m")])
        assert core.next_round_in() == expected
        clock.advance(expected)
    core.run_round()
    core.report([accepted("t", "m")])
    core.apply([TaskRemoved("t"), TasksSubmitted(1, ("t",))])
    core.run_round()
    core.report([refused("t", "m")])
    assert core.next_round_in() == 0.5


def test_other_tasks_do_not_wait_for_one_in_back_off():
    core = scheduler(machine("m"), tasks(1, "t"))
    core.run_round()
    core.report([refused("t", "m")])
    core.apply([TasksSubmitted(1, ("u",))])
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"u": "m"}


def test_a_refusal_without_retry_waits_for_an_event_about_the_task():
    clock = Clock()
    core = scheduler(machine("m"), tasks(1, "t"), clock=clock)
    core.run_round()
    core.report([refused("t", "m", retry=False)])
    assert core.next_round_in() is None
    clock.advance(3_600.0)
    assert core.next_round_in() is None
    core.apply([machine("n"), RecordUpserted("kind", "name", b"")])  # not about the task
    assert core.next_round_in() is None
    assert placed(core.run_round()) == {}
    core.apply([TasksSubmitted(1, ("t",))])
    assert core.next_round_in() == 0.0
    assert set(placed(core.run_round())) == {"t"}


def test_a_refusal_without_retry_may_turn_out_to_be_bound_elsewhere():
    core = scheduler(machine("m"), machine("n"), tasks(1, "t"))
    (name,) = placed(core.run_round()).values()
    other = "n" if name == "m" else "m"
    core.report([refused("t", name, retry=False)])
    core.apply([TasksBound(other, 1, ("t",))])
    assert [(state.state, state.machine) for state in core.task_states()] == [("BOUND", other)]
    assert {state.name: state.tasks for state in core.machine_states()} == {name: 0, other: 1}


@pytest.mark.parametrize(
    "report",
    [
        accepted("unknown", "m"),
        refused("unknown", "m"),
        accepted("assumed", "elsewhere"),
        refused("assumed", "elsewhere"),
        refused("bound", "m"),
        refused("bound", "m", retry=False),
        accepted("pending", "m"),
        refused("pending", "m"),
        accepted("pending", ""),
    ],
)
def test_reports_about_anything_but_a_decision_of_ours_are_ignored(report: BindingReport):
    core = scheduler(machine("m"), tasks(1, "assumed"))
    core.run_round()
    core.apply([TasksBound("m", 1, ("bound",)), *tasks(2, "pending", content=task_class(cpu=9_000))])
    core.run_round()
    before = [list(core.task_states()), list(core.machine_states()), core.counts(), core.next_round_in()]
    core.report([report])
    assert [
        list(core.task_states()),
        list(core.machine_states()),
        core.counts(),
        core.next_round_in(),
    ] == before


def test_a_binding_that_the_cluster_has_confirmed_cannot_be_refused_any_more():
    # The reply to a bind was lost: the report says failed, the watch says bound. Giving the room back would overcommit.
    core = scheduler(machine("m", cpu=100), tasks(1, "t"))
    core.run_round()
    core.apply([TasksBound("m", 1, ("t",))])
    core.report([refused("t", "m")])
    core.apply([TasksSubmitted(1, ("u",))])
    assert placed(core.run_round()) == {}


def test_a_task_whose_machine_vanished_before_its_binding_failed_is_placed_again():
    clock = Clock()
    core = scheduler(machine("m"), tasks(1, "t"), clock=clock)
    core.run_round()
    core.apply([MachineRemoved("m"), machine("n")])
    core.report([refused("t", "m")])
    clock.advance(1.0)
    assert placed(core.run_round()) == {"t": "n"}
    core.apply([machine("m")])
    assert {state.name: state.tasks for state in core.machine_states()} == {"m": 0, "n": 1}


# --- waiting for what could help -------------------------------------------------------------------------------------


def test_tasks_that_fit_nowhere_cause_no_rounds():
    core = scheduler(machine("m", cpu=1_000), tasks(1, *uids("t", 50), content=task_class(cpu=2_000)))
    core.run_round()
    assert core.next_round_in() is None
    core.apply([MachineSampled("unknown", START, {"cpu": 1.0}), machine("small", cpu=500)])
    assert core.next_round_in() is None


def test_a_freed_machine_wakes_the_tasks_that_it_suits():
    core = scheduler(machine("m", cpu=1_000), tasks(1, content=task_class(cpu=800)))
    core.apply([TasksBound("m", 1, ("running",)), TasksSubmitted(1, ("waiting",))])
    core.apply(tasks(2, "larger", content=task_class(cpu=2_000)))
    core.run_round()
    assert core.next_round_in() is None
    core.apply([TaskRemoved("running")])
    assert core.next_round_in() == 0.0
    result = core.run_round()
    assert placed(result) == {"waiting": "m"}
    assert result.stats.tasks == 1  # the larger one was not even tried


def test_records_wake_everything():
    core = scheduler(machine("m", cpu=50), tasks(1, "t"))
    for event in (RecordUpserted("kind", "name", b"x"), RecordRemoved("kind", "name")):
        core.run_round()
        assert core.next_round_in() is None
        core.apply([event])
        assert core.next_round_in() == 0.0


def test_a_larger_machine_wakes():
    core = scheduler(machine("m", cpu=50), tasks(1, "t"))
    core.run_round()
    core.apply([machine("m", cpu=99)])
    assert core.next_round_in() is None
    core.apply([machine("m", cpu=100)])
    assert core.next_round_in() == 0.0


# --- questions -------------------------------------------------------------------------------------------------------


def test_explaining_an_unknown_task_is_an_error():
    with pytest.raises(UnknownTaskError, match="ghost"):
        scheduler().explain("ghost")


def test_a_pending_task_is_explained_per_machine():
    core = scheduler(
        machine("fits", cpu=1_000, memory=1_000),
        machine("small", cpu=50, memory=1_000),
        machine("cordoned", cpu=1_000, memory=1_000, cordoned=True),
        tasks(1, "t", content=task_class(cpu=500, memory=500)),
    )
    explanation = core.explain("t")
    assert (explanation.uid, explanation.state, explanation.machine) == ("t", "PENDING", "")
    by_name = {verdict.machine: verdict for verdict in explanation.machines}
    assert {name: verdict.reasons for name, verdict in by_name.items()} == {
        "fits": (),
        "small": ("Insufficient cpu",),
        "cordoned": ("node(s) were unschedulable",),
    }
    fits = by_name["fits"]
    assert fits.feasible
    assert [(model.model, model.raw, model.score, model.cost) for model in fits.models] == [
        ("cpu_mem", 2_500.0, 60.0, 40.0),
        ("kubernetes", 0.0, 100.0, 0.0),
    ]
    assert fits.cost == 40.0
    assert not by_name["small"].feasible


def test_a_bound_task_is_explained_as_if_it_waited():
    core = scheduler(machine("m", cpu=1_000, memory=1_000), tasks(1, content=task_class(cpu=600, memory=600)))
    core.apply([TasksBound("m", 1, ("t",))])
    explanation = core.explain("t")
    assert (explanation.state, explanation.machine) == ("BOUND", "m")
    (verdict,) = explanation.machines
    assert verdict.feasible
    assert verdict.models[0].raw == 2_600.0  # its own use counts once, not twice
    assert next(core.machine_states()).tasks == 1  # and asking has changed nothing


def test_a_task_without_machines_is_explained_too():
    core = scheduler(tasks(1, "t"))
    assert core.explain("t").machines == ()


def test_listing_is_in_order_and_says_what_is_free():
    core = scheduler(
        machine("b", cpu=1_000, memory=64), machine("a", cpu=1_000, memory=64), tasks(1, "z", "y")
    )
    core.run_round()
    assert [state.uid for state in core.task_states()] == ["y", "z"]
    states = list(core.machine_states())
    assert [state.name for state in states] == ["a", "b"]
    assert states[0].allocatable == {"cpu": 1_000, "memory": 64, "pods": 110}
    assert states[0].free == {"cpu": 900, "memory": 64, "pods": 109}


def test_the_last_network_is_kept_as_dimacs():
    core = scheduler(machine("m"), tasks(1, *uids("t", 3)))
    core.run_round()
    text = core.last_network_dimacs()
    assert text.startswith("c ")
    core.run_round()
    assert core.last_network_dimacs() == text  # a round without tasks solves nothing


# --- determinism -----------------------------------------------------------------------------------------------------


def test_the_same_events_give_the_same_deltas():
    def run(seed: int) -> list[tuple[str, str]]:
        core = scheduler(
            *(machine(f"m{index}") for index in range(30)),
            *(
                tasks(number, *uids(f"c{number}", 7), content=task_class(cpu=100 * number))
                for number in range(1, 6)
            ),
            options=RoundOptions(seed=seed),
        )
        return [(delta.uid, delta.machine) for delta in core.run_round().deltas]

    assert run(0) == run(0)
    assert run(1) == run(1)
