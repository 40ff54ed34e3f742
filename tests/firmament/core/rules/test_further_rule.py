"""A further rule about machines is one file and its registration: everything else goes by what it declares.

``admitted_namespaces.py`` is that file. Here it stands at the end of kube-scheduler's rules, and no part of the
scheduler has been told of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from firmament.core.configuration import CoreConfiguration
from firmament.core.cures.search import cures_for
from firmament.core.events import ClassDefined, Event, MachineUpserted, TasksBound, TasksSubmitted
from firmament.core.model import Machine
from firmament.core.placement.outcome import no_timer
from firmament.core.reasons import lacks_only_room
from firmament.core.rescheduling.plan_moves import PlanOptions, plan_moves
from firmament.core.rescheduling.room_by_moves import find_gang_room_by_moves, find_room_by_moves
from firmament.core.rescheduling.trials import Trials
from firmament.core.rules import registry
from firmament.core.rules.registry import NodeRules
from firmament.core.scheduler import Scheduler
from firmament.saved_rounds.replaying import replay
from firmament.saved_rounds.saving import RoundRecord, decode_round, encode_round
from firmament.solvers.ortools_solver import OrToolsSolver
from poseidon.cli import main
from tests.firmament.core.rules.admitted_namespaces import KEY, NOT_ADMITTED, AdmittedNamespaces
from tests.firmament.saved_rounds.rounds import VERSIONS
from tests.poseidon.offline.objects import node, pod
from tests.support.core import Clock, messages, placed, task_class, tasks

RULES = (*registry.DEFAULT, AdmittedNamespaces())
CONFIGURATION = CoreConfiguration(rules=NodeRules(RULES))
SHOP = task_class(1000, namespace="shop")


def machine(name: str, namespaces: str | None = None, cpu: int = 4000) -> MachineUpserted:
    annotations = {} if namespaces is None else {KEY: namespaces}
    return MachineUpserted(Machine(name, {"cpu": cpu, "pods": 110}, annotations=annotations))


def scheduler(*events: Event | Sequence[Event]) -> Scheduler:
    made = Scheduler(configuration=CONFIGURATION, solver=OrToolsSolver(), clock=Clock())
    made.apply([each for event in events for each in (event if isinstance(event, Sequence) else (event,))])
    return made


def reasons(core: Scheduler, uid: str) -> Mapping[str, tuple[str, ...]]:
    return {each.machine: each.reasons for each in core.explain(uid).machines}


def test_rounds_keep_to_it_and_say_why():
    core = scheduler(machine("a", "bank"), machine("b", "bank,shop"), machine("c"))
    core.apply(tasks(1, *(f"t{index}" for index in range(8)), content=SHOP))
    assert set(placed(core.run_round()).values()) == {"b", "c"}
    core.apply(tasks(1, "late", content=SHOP))
    text = messages(core.run_round())["late"]
    assert text == f"0/3 nodes are available: 1 {NOT_ADMITTED.value}, 2 Insufficient cpu."


def test_tasks_of_two_namespaces_get_answers_of_their_own():
    core = scheduler(machine("a", "bank"), machine("b", "shop"))
    core.apply([*tasks(1, "s", content=SHOP), *tasks(2, "b", content=replace(SHOP, namespace="bank"))])
    assert placed(core.run_round()) == {"s": "b", "b": "a"}


def test_explain_names_it():
    core = scheduler(machine("a", "bank"), machine("b", "shop"), tasks(1, "t", content=SHOP))
    assert reasons(core, "t") == {"a": (NOT_ADMITTED.value,), "b": ()}


def test_who_waits_is_tried_again_once_the_machine_changes():
    core = scheduler(machine("a", "bank"), tasks(1, "t", content=SHOP))
    core.run_round()
    assert core.next_round_in() is None
    core.apply([machine("a", "bank", cpu=5000)])
    assert core.next_round_in() is None, "more room does not help"
    core.apply([machine("a", "bank,shop")])
    assert core.next_round_in() == 0
    assert placed(core.run_round()) == {"t": "a"}


def test_what_changes_while_a_round_is_solved_is_looked_at_when_it_is_closed():
    core = scheduler(machine("a", "shop"), tasks(1, "t", content=SHOP))
    opened = core.open_round()
    placement = opened.solve()
    core.apply([machine("a", "bank")])
    assert placed(core.close_round(opened, placement)) == {}
    assert reasons(core, "t") == {"a": (NOT_ADMITTED.value,)}


def test_evicting_others_does_not_help():
    bound = TasksBound("a", 2, ("low",), priority=0)
    core = scheduler(machine("a", "bank"), ClassDefined(2, replace(SHOP, namespace="bank")), bound)
    core.apply(tasks(1, "t", content=task_class(4000, namespace="shop"), priority=100))
    result = core.run_round()
    assert not result.deltas
    ending = "0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    assert messages(result, preemption=True)["t"].endswith(ending)


def test_victims_are_taken_where_it_lets_the_task_in():
    def full(name: str) -> Event:
        return TasksBound(name, 2, (f"low-{name}",), priority=0)

    core = scheduler(machine("a", "bank"), machine("b"), ClassDefined(2, task_class(4000, namespace="bank")))
    core.apply([full("a"), full("b"), *tasks(1, "t", content=SHOP, priority=100)])
    assert {delta.uid for delta in core.run_round().deltas} == {"low-b", "t"}


def test_its_cures_are_proposed_and_tried():
    events: list[Event] = [machine("a", "bank"), ClassDefined(1, SHOP)]
    found = cures_for(Trials(scheduler(), events), TasksSubmitted(1, ("t",)), tries=30, most=5)
    assert [(each.steps[0].subject, each.steps[0].after) for each in found] == [(KEY, "bank,shop")]
    assert found[0].machine == "a"


def test_no_room_is_made_by_moves_where_it_refuses_the_task():
    running = TasksBound("b", 2, ("x",))
    events: list[Event] = [
        machine("a", "bank"),
        machine("b", "shop"),
        ClassDefined(1, task_class(4000, namespace="shop")),
        ClassDefined(2, replace(SHOP, namespace="")),
        running,
    ]
    waits = TasksSubmitted(1, ("t",))
    trials = Trials(scheduler(), events)
    near = [name for name, causes in trials.refusals(waits).items() if lacks_only_room(causes)]
    assert near == ["b"]
    assert find_room_by_moves(trials, waits, near, 10) is None, "whoever runs on b has no other place"
    trials = Trials(scheduler(), [*events, machine("c")])
    found = find_room_by_moves(trials, waits, near, 10)
    assert found is not None
    assert (found.machine, found.moves) == ("b", {"x": "c"})
    assert find_gang_room_by_moves(Trials(scheduler(), events[:1] + events[2:4]), [waits], 10) is None


def test_moves_that_lower_costs_keep_to_it():
    core = scheduler(machine("a"), machine("b", "bank"), ClassDefined(1, SHOP))
    core.apply([TasksBound("a", 1, ("t0", "t1", "t2"))])
    prices = dict.fromkeys(("t0", "t1", "t2"), 0.0)
    assert not plan_moves(core, prices, PlanOptions(0.0), OrToolsSolver()).moves
    core.apply([machine("b", "shop")])
    assert plan_moves(core, prices, PlanOptions(0.0), OrToolsSolver()).moves


def test_who_runs_against_it_is_found():
    core = scheduler(machine("a"), ClassDefined(1, SHOP), TasksBound("a", 1, ("t",)))
    assert not list(core.iter_broken_rules())
    core.apply([machine("a", "bank")])
    assert [(each.uid, each.reason) for each in core.iter_broken_rules()] == [("t", NOT_ADMITTED.value)]


def test_saved_rounds_are_run_again_with_it():
    core = scheduler(machine("a", "bank"), machine("b", "shop"), tasks(1, "t", "u", content=SHOP))
    opened = core.open_round()
    assert opened.snapshot is not None
    placement = opened.solve()
    record = RoundRecord("c", opened.snapshot, placement, core.close_round(opened, placement))
    saved = decode_round(encode_round(record, VERSIONS))
    assert saved.problem.feasible.tolist() == [[False, True]]
    assert saved.placed.machine.tolist() == [1]
    assert replay(saved, OrToolsSolver(), timer=no_timer).same


def test_the_bridge_is_asked_for_what_it_reads():
    assert {"namespaces", f"machine_annotations:{KEY}"} <= set(CONFIGURATION.words)
    assert not set(CoreConfiguration().words) & {"namespaces", f"machine_annotations:{KEY}"}


def test_plans_keep_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "DEFAULT", RULES)
    own, other = node("own"), node("other")
    own["metadata"]["annotations"] = {KEY: "shop"}
    other["metadata"]["annotations"] = {KEY: "bank"}
    file = tmp_path / "input.yaml"
    file.write_text(yaml.safe_dump_all([own, other, *(pod(f"p{index}", cpu=1) for index in range(6))]))
    result = CliRunner().invoke(main, ["plan", "-f", str(file), "-o", "json"])
    plan = json.loads(result.stdout)
    assert {each["node"] for each in plan["bindings"]} == {"own"}
    told = CliRunner().invoke(main, ["explain", "-f", str(file), "--pod", plan["pending"][0]["pod"]])
    assert f"annotate node other with {KEY}=bank,shop" in told.stdout
    assert f"kubectl annotate node other {KEY}=bank,shop --overwrite" in told.stdout
    assert all(NOT_ADMITTED.value in each["reason"] for each in plan["pending"])


def test_rules_say_what_they_read():
    with pytest.raises(TypeError, match=r"Wrong\.reads_of_machine: there is no colour"):
        type("Wrong", (AdmittedNamespaces,), {"reads_of_machine": ("colour",)})
    with pytest.raises(TypeError, match=r"Wrong\.reads_of_task: there is no ports"):
        type("Wrong", (AdmittedNamespaces,), {"reads_of_task": ("ports",)})
    with pytest.raises(TypeError, match=r"Wrong\.for_machines_with: labels cannot be asked for"):
        type("Wrong", (AdmittedNamespaces,), {"for_machines_with": ("labels",)})
    with pytest.raises(ValueError, match="two rules have one name"):
        NodeRules([AdmittedNamespaces(), AdmittedNamespaces()])


def test_answers_last_if_all_that_is_read_is_counted():
    assert AdmittedNamespaces().lasting
    assert [rule.name for rule in registry.DEFAULT if not rule.lasting] == ["VolumeBinding (capacity)"]
