"""Events that arrive between the opening and the closing of a round."""

from __future__ import annotations

from firmament.core.events import MachineRemoved, TaskRemoved, TasksBound, TasksSubmitted
from tests.support.core import machine, placed, scheduler, task_class, tasks


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
