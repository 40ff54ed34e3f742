"""A model's own constraint between tasks: as many leave as it takes until it allows who comes, and no more."""

from __future__ import annotations

from firmament.core.configuration import WeightedModel
from firmament.core.events import ClassDefined, TasksBound, TasksSubmitted
from firmament.core.model import TaskClass
from firmament.core.results import DeltaKind
from tests.firmament.core.constraints.team_isolation import RACK, TEAM, TeamIsolation
from tests.support.core import machine, scheduler, task_class

LIMIT = 2


def of_team(team: str) -> TaskClass:
    return task_class(100, labels=((TEAM, team),))


def test_a_team_leaves_with_all_its_tasks_and_the_other_team_stays():
    core = scheduler(
        machine("m", labels={RACK: "a"}),
        [ClassDefined(number, of_team(team)) for number, team in enumerate("xyz", 1)],
        TasksBound("m", 1, ("x0",), priority=1, assigned=(1.0,)),
        TasksBound("m", 2, ("y0", "y1"), priority=0, assigned=(2.0, 3.0)),
        TasksSubmitted(3, ("z",), priority=10),
        overlays=[WeightedModel(TeamIsolation(LIMIT))],
    )
    result = core.run_round()
    assert sorted(each.uid for each in result.deltas if each.kind is DeltaKind.PREEMPT) == ["y0", "y1"]
    assert [each.uid for each in result.deltas if each.kind is DeltaKind.PLACE] == ["z"]
