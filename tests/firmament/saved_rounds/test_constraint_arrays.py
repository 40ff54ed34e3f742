"""Rounds with constraints of models between tasks, saved and run again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from firmament.core.events import ClassDefined, TasksBound, TasksSubmitted
from firmament.core.placement.outcome import PassOptions, no_timer
from firmament.core.rounds import decide
from firmament.saved_rounds import SavedRoundError
from firmament.saved_rounds.saved_arrays import decode_arrays, encode_arrays
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.cost_models.packages import install
from tests.firmament.core.constraints.team_isolation import Teams
from tests.firmament.core.constraints.test_team_isolation import core, machines, of_team
from tests.firmament.saved_rounds.rounds import refusal
from tests.support.core import uids


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        tmp_path,
        "team-isolation",
        "team_isolation = tests.firmament.core.constraints.team_isolation:TeamIsolation",
    )
    monkeypatch.syspath_prepend(str(tmp_path))


def test_a_saved_round_runs_again(installed: None, monkeypatch: pytest.MonkeyPatch):
    made = core(machines(), [ClassDefined(n, of_team(team)) for n, team in enumerate("xyz", 1)])
    made.apply([TasksBound("a0", 1, ("x",)), TasksBound("b0", 3, ("z",))])
    made.apply([TasksSubmitted(number, uids(str(number), 5)) for number in (1, 2, 3)])
    opened = made.open_round()
    assert opened.snapshot is not None
    then = opened.solve()
    arrays = encode_arrays(opened.snapshot.problem, then.assignments)
    problem, _ = decode_arrays(arrays)
    again = decide(problem, OrToolsSolver(), PassOptions(), no_timer)
    for part in ("cls", "machine", "count"):
        assert np.array_equal(getattr(again.assignments, part), getattr(then.assignments, part))
    monkeypatch.setattr(Teams, "save", lambda teams: {"rack": teams.rack[:1], "count": teams.count})
    fault = "team_isolation: rack or count is too short - at `$.problem.rules.modelled[0].constraint`"
    assert refusal(opened.snapshot.problem) == fault


def test_a_round_whose_model_is_not_installed_cannot_run_again():
    made = core(machines(), [ClassDefined(1, of_team("x")), TasksSubmitted(1, ("x",))])
    opened = made.open_round()
    assert opened.snapshot is not None
    arrays = encode_arrays(opened.snapshot.problem, opened.solve().assignments)
    with pytest.raises(
        SavedRoundError, match="a constraint that 'team_isolation' has to read: no cost model"
    ):
        decode_arrays(arrays)
