"""The tasks on machines as models see them: counted by kind, only if a model asks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from cost_models.interface import MachineColumns, Needs, Residents
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import BindingReport, MachineRemoved, TaskRemoved, TasksBound
from tests.support.core import machine, scheduler, task_class, tasks
from tests.support.models import NEEDS, Stated, indifferent

WEB = task_class(cpu=10, labels=(("taskType", "sheep"),))
DEVIL = task_class(cpu=30, namespace="ns", labels=(("taskType", "devil"),))


@dataclass
class Curious(Stated):
    """A model that asks for the tasks on the machines."""

    needs: Needs = field(default_factory=lambda: replace(NEEDS, residents=True))


def shown(model: Stated) -> Residents:
    """The residents that the model was shown last."""
    found = model.seen[-1][0].residents
    assert found is not None
    return found


def by_name(columns: MachineColumns) -> dict[tuple[str, str], int]:
    """Counts by machine and task type."""
    found = columns.residents
    assert found is not None
    return {
        (columns.names[row], found.kinds[kind].labels.get("taskType", "")): count
        for row, kind, count in zip(
            found.machine.tolist(), found.kind.tolist(), found.count.tolist(), strict=True
        )
    }


def test_nothing_is_counted_unless_a_model_asks():
    model = Stated(indifferent)
    scheduler(machine("m"), tasks(1, "t", content=WEB), overlays=[WeightedModel(model)]).run_round()
    assert model.seen[0][0].residents is None
    assert not CoreConfiguration(overlays=(WeightedModel(model),)).needs.residents
    assert CoreConfiguration(overlays=(WeightedModel(Curious(indifferent)),)).needs.residents


def test_bound_and_assumed_tasks_are_counted_by_machine_and_kind():
    model = Curious(indifferent)
    core = scheduler(
        machine("m"),
        machine("n"),
        tasks(1, content=WEB),
        tasks(2, content=DEVIL),
        TasksBound("n", 1, ("w1", "w2")),
        TasksBound("n", 2, ("d1",)),
        TasksBound("m", 2, ("d2",)),
        TasksBound("unknown", 1, ("w3",)),
        tasks(3, "first", content=task_class(cpu=1, machine="m")),
        overlays=[WeightedModel(model)],
    )
    core.run_round()
    assert by_name(model.seen[-1][0]) == {("n", "sheep"): 2, ("n", "devil"): 1, ("m", "devil"): 1}
    core.apply([TaskRemoved("w1"), *tasks(4, "next")])
    core.run_round()
    assert by_name(model.seen[-1][0]) == {
        ("n", "sheep"): 1, ("n", "devil"): 1, ("m", "devil"): 1, ("m", ""): 1,
    }  # fmt: skip


def test_kinds_carry_what_models_may_see_and_their_requests():
    model = Curious(indifferent)
    core = scheduler(
        machine("m"),
        tasks(1, content=DEVIL),
        TasksBound("m", 1, ("d",)),
        tasks(2, "t"),
        overlays=[WeightedModel(model)],
    )
    core.run_round()
    columns = model.seen[0][0]
    found = shown(model)
    relevant = [columns.resources.index(name) for name in ("cpu", "pods")]
    assert [(kind.namespace, dict(kind.labels)) for kind in found.kinds] == [("ns", {"taskType": "devil"})]
    assert found.requests[:, relevant].tolist() == [[30, 1]]
    assert found.requests.shape[1] == len(columns.resources)
    assert found.sum_by_machine(np.array([7.0]), columns.count).tolist() == [7.0]


def test_classes_that_differ_in_their_pin_alone_are_one_kind():
    model = Curious(indifferent)
    core = scheduler(
        machine("m"),
        tasks(1, content=task_class(cpu=1)),
        tasks(2, content=task_class(cpu=1, machine="m")),
        TasksBound("m", 1, ("a",)),
        TasksBound("m", 2, ("b",)),
        tasks(3, "t", content=WEB),
        overlays=[WeightedModel(model)],
    )
    core.run_round()
    assert shown(model).count.tolist() == [2]


def test_an_empty_cluster_has_none():
    model = Curious(indifferent)
    scheduler(tasks(1, "t"), overlays=[WeightedModel(model)]).run_round()
    found = shown(model)
    assert len(found.machine) == len(found.kinds) == 0
    assert found.sum_by_machine(np.zeros(0), 0).tolist() == []


@pytest.mark.parametrize("accepted", [True, False])
def test_a_refused_binding_is_no_resident(accepted: bool):
    model = Curious(indifferent)
    core = scheduler(machine("m"), tasks(1, "t", content=WEB), overlays=[WeightedModel(model)])
    core.run_round()
    core.report([BindingReport("t", "m", bound=accepted)])
    core.apply(tasks(2, "u"))
    core.run_round()
    assert shown(model).count.tolist() == ([1] if accepted else [])


def test_tasks_follow_their_machine_when_rows_move():
    model = Curious(indifferent)
    core = scheduler(
        machine("gone"),
        machine("m"),
        tasks(1, content=WEB),
        TasksBound("m", 1, ("a",)),
        TasksBound("gone", 1, ("b",)),
        overlays=[WeightedModel(model)],
    )
    core.apply([MachineRemoved("gone"), *tasks(2, "t")])
    core.run_round()
    assert by_name(model.seen[-1][0]) == {("m", "sheep"): 1}


def test_a_task_that_is_explained_is_not_its_own_neighbour():
    model = Curious(indifferent)
    core = scheduler(
        machine("m"),
        tasks(1, content=WEB),
        TasksBound("m", 1, ("a", "b")),
        overlays=[WeightedModel(model)],
    )
    core.explain("a")
    assert shown(model).count.tolist() == [1]
