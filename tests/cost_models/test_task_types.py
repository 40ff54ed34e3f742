"""Task types by label."""

from __future__ import annotations

import pytest

from cost_models.firmament_policies.task_types import TaskType, resident_counts, types_of
from cost_models.interface import ShapeRow
from tests.cost_models.columns import machine_columns


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("Turtle", TaskType.TURTLE),
        ("sheep", TaskType.SHEEP),
        ("RABBIT", TaskType.RABBIT),
        ("devil", TaskType.DEVIL),
    ],
)
def test_types_are_read_in_any_case(label: str, kind: TaskType):
    types, notes = types_of([ShapeRow(labels={"taskType": label})])
    assert (types.tolist(), notes) == ([kind], ())


def test_tasks_without_a_type_are_sheep_and_no_cause_for_remarks():
    types, notes = types_of([ShapeRow(), ShapeRow(labels={"app": "devil"})])
    assert (types.tolist(), notes) == ([TaskType.SHEEP] * 2, ())


def test_unknown_types_are_sheep_and_remarked_on_once():
    wolf, goat = ShapeRow("ns", {"taskType": "wolf"}), ShapeRow(labels={"taskType": "goat"})
    types, notes = types_of([wolf, goat, wolf])
    assert types.tolist() == [TaskType.SHEEP] * 3
    rest = "no such type; use one of Turtle, Sheep, Rabbit, Devil; they count as Sheep"
    assert notes == (
        f"pods in namespace ns with label taskType='wolf': {rest}",
        f"pods with label taskType='goat': {rest}",
    )


def test_residents_are_counted_by_type():
    rabbit, none = ShapeRow(labels={"taskType": "rabbit"}), ShapeRow()
    machines = machine_columns("mn", residents=[(0, rabbit, 2), (1, none, 3), (1, rabbit, 1), (1, rabbit, 4)])
    counts = resident_counts(machines)
    assert counts[TaskType.RABBIT].tolist() == [2.0, 5.0]
    assert counts[TaskType.SHEEP].tolist() == [0.0, 3.0]
    assert counts.sum() == 10
    assert resident_counts(machine_columns("mn")).tolist() == [[0.0, 0.0]] * 4
