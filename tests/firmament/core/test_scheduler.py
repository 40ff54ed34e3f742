"""The facade: rounds, waiting for what could help, questions."""

from __future__ import annotations

import pytest

from cost_models.interface import Needs
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, RoundOptions, WeightedModel
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    MachineRemoved,
    MachineSampled,
    RecordRemoved,
    RecordUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.few_tasks.first_costs import FirstCosts
from firmament.core.model import NodeSelectorTerm, PreferredTerm, Requirement
from firmament.core.questions import UnknownTaskError
from firmament.core.results import Counts, DeltaKind
from firmament.core.scheduler import Scheduler
from firmament.core.scoring.kept_rows import KeptRows
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import (
    START,
    Clock,
    machine,
    messages,
    placed,
    scheduler,
    task_class,
    tasks,
    uids,
    without_preemption,
)
from tests.support.models import Stated, indifferent


def accepted(uid: str, name: str) -> BindingReport:
    return BindingReport(uid, name, bound=True)


def refused(uid: str, name: str, *, retry: bool = True) -> BindingReport:
    return BindingReport(uid, name, bound=False, reason="conflict", retry=retry)


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
    assert [without_preemption(state.message) for state in core.task_states()] == [
        "0/1 nodes are available: 1 Insufficient cpu.",
        "0/1 nodes are available: 1 Insufficient cpu.",
        "0/1 nodes are available: 1 node(s) were unschedulable.",
    ]


def test_tasks_that_can_never_be_placed_say_why():
    core = scheduler(machine("m"), tasks(1, "t", content=task_class(invalid="the selector is malformed")))
    assert messages(core.run_round()) == {"t": "the selector is malformed"}


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


def test_records_that_a_model_reads_wake_everything():
    reader = WeightedModel(Stated(indifferent, needs=Needs(records=("kind",))))
    core = scheduler(machine("m", cpu=50), tasks(1, "t"), overlays=[reader])
    for event in (RecordUpserted("kind", "name", b"x"), RecordRemoved("kind", "name")):
        core.run_round()
        assert core.next_round_in() is None
        core.apply([event])
        assert core.next_round_in() == 0.0


def test_records_that_no_model_reads_wake_nobody():
    core = scheduler(machine("m", cpu=50), tasks(1, "t"))
    core.run_round()
    core.apply([RecordUpserted("kind", "name", b"x")])
    assert core.next_round_in() is None


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


def test_a_task_that_is_described_anew_takes_class_and_priority_over():
    """The more important one of two gets the only place, also if its class has changed with its priority."""
    core = scheduler(machine("m", cpu=100), tasks(1, "a", priority=0), tasks(2, "b", priority=1))
    core.apply(
        [ClassDefined(3, task_class(100, labels=(("new", "yes"),))), TasksSubmitted(3, ("a",), priority=2)]
    )
    assert placed(core.run_round()) == {"a": "m"}


def test_a_round_without_a_network_has_the_figures_of_one_with_it():
    core = Scheduler(
        configuration=CoreConfiguration(policy=WeightedModel(load_model("cpu_mem", {}))),
        solver=OrToolsSolver(),
        clock=Clock(),
        kept_rows=KeptRows(least_machines=0),
        first_costs=FirstCosts(0),
    )
    core.apply([*(machine(name, cpu=1000 * (number + 1)) for number, name in enumerate("abcd"))])
    core.apply(tasks(1, "t", content=task_class(500)))
    whole = core.open_round().solve().stats
    opened = core.open_round(whole=False)
    assert opened.direct is not None
    stats = opened.solve().stats
    assert (stats.machines, stats.tasks, stats.classes, stats.waves, stats.passes) == (4, 1, 1, 1, 1)
    assert stats.cost == whole.cost > 0


def test_what_stays_on_its_devices_is_not_forgotten_when_devices_may_move_again():
    core = scheduler(machine("m"))
    core.let_devices_move()
    stayed = core._cluster.devices.stayed
    assert stayed == {}
    core.let_devices_move()
    assert core._cluster.devices.stayed is stayed
