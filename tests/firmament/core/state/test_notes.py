"""What models say about bad input is told once."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Assessment
from firmament.core.configuration import WeightedModel
from firmament.core.scoring.round_assessment import crowding_units
from firmament.core.state.records import Notes
from tests.firmament.core.scoring.test_composition import batch, columns
from tests.support.core import machine, scheduler, tasks
from tests.support.models import Stated


def noting(*notes: str) -> WeightedModel:
    return WeightedModel(Stated(lambda _, shapes: Assessment(np.zeros((shapes.count, 1)), notes=notes)))


def test_a_round_tells_each_note_once():
    core = scheduler(machine("m"), tasks(1, "a"), overlays=[noting("m: odd", "t: odd", "m: odd")])
    assert core.run_round().notes == ("m: odd", "t: odd")
    core.apply(tasks(2, "b"))
    assert core.run_round().notes == ()


def test_remarks_are_remembered_in_bounds():
    notes = Notes(most=2)
    assert notes.new(["a", "b"]) == ("a", "b")
    assert notes.new(["b", "c"]) == ("c",)
    assert notes.new(["c"]) == ()
    assert notes.new(["a"]) == ("a",)
    assert notes.new(["x", "y", "z"]) == ("x", "y", "z")


def test_growth_in_an_answer_goes_before_crowding():
    models = [WeightedModel(Stated(lambda *_: Assessment(np.zeros((1, 1))), growth=1.0), weight=2)]
    stated = Assessment(np.zeros((1, 1)), growth=np.array([0.0, 7.0]))
    assert crowding_units(columns(2), batch((1, 5)), models, [stated]).tolist() == [0, 1_400]
    silent = Assessment(np.zeros((1, 1)))
    asked = crowding_units(columns(2), batch((1, 5)), models)
    assert crowding_units(columns(2), batch((1, 5)), models, [silent]).tolist() == asked.tolist()
