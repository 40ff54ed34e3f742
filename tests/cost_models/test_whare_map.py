"""Figures by machine type and co-runners, worked by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pytest

from cost_models.checks.sample_inputs import Case
from cost_models.conformance import check_model
from cost_models.firmament_policies.whare_map import WhareMap
from cost_models.firmament_policies.whare_samples import RECORD_KIND
from cost_models.interface import MachineColumns, ModelArgumentError, ShapeRow
from cost_models.registry import load_model
from firmament.core.configuration import WeightedModel
from firmament.core.events import RecordUpserted, TasksBound
from tests.cost_models.columns import machine_columns, shape_batch
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids
from tests.support.models import Stated, flat

TYPE = "node.kubernetes.io/instance-type"
SORT = ShapeRow(annotations={"firmament.io/program": "sort"})
DEVIL = ShapeRow(labels={"taskType": "Devil"})
SHEEP = ShapeRow()
BIG_BIG_SMALL = {"b1": {TYPE: "big"}, "b2": {TYPE: "big"}, "s1": {TYPE: "small"}}


def run(machine_type: str, picoseconds: float, **more: object) -> dict[str, object]:
    """A sample of ``sort`` with so many picoseconds per instruction: 1e12 instructions in as many seconds."""
    return {
        "program": "sort",
        "machineType": machine_type,
        "runtimeSeconds": picoseconds,
        "instructions": 1e12,
        **more,
    }


def records(*samples: object) -> dict[str, dict[str, bytes]]:
    return {RECORD_KIND: {f"run-{index}": json.dumps(each).encode() for index, each in enumerate(samples)}}


def raw(machines: MachineColumns, row: ShapeRow = SORT, **args: object) -> list[float]:
    return WhareMap(**args).assess(machines, shape_batch(row)).raw[0].tolist()


def test_machine_types_cost_what_programs_lost_on_them():
    # Mean of big: (10 + 14) / 2 = 12, small: 30. The best is 12.
    machines = machine_columns(
        BIG_BIG_SMALL, records=records(run("big", 10), run("big", 14), run("small", 30))
    )
    assert raw(machines) == [100.0, 100.0, 250.0]


def test_the_figure_is_picoseconds_per_instruction():
    slow = run("small", 1) | {"runtimeSeconds": 8.0, "instructions": 2e9}
    fast = run("big", 1) | {"runtimeSeconds": 80.0, "instructions": 1e11}  # 800 ps against 4000 ps
    assert raw(machine_columns(BIG_BIG_SMALL, records=records(slow, fast)))[2] == pytest.approx(500.0)


def test_runs_weigh_by_their_count():
    machines = machine_columns(
        BIG_BIG_SMALL, records=records(run("big", 10, count=3), run("big", 20), run("small", 25))
    )
    assert raw(machines) == [100.0, 100.0, 200.0]  # (3 x 10 + 20) / 4 = 12.5


def test_the_best_is_the_lowest_not_the_highest():
    # With the highest as the best, all figures would be 100 or less.
    machines = machine_columns(BIG_BIG_SMALL, records=records(run("big", 40), run("small", 10)))
    assert raw(machines) == [400.0, 400.0, 100.0]


def test_a_type_that_the_program_never_ran_on_costs_the_worst():
    machines = machine_columns(
        {"b": {TYPE: "big"}, "s": {TYPE: "small"}, "n": {TYPE: "new"}},
        records=records(run("big", 10), run("small", 30)),
    )
    assert raw(machines) == [100.0, 300.0, 300.0]


def test_a_program_that_never_ran_and_a_task_without_one_cost_the_best_everywhere():
    machines = machine_columns(BIG_BIG_SMALL, records=records(run("big", 10), run("small", 30)))
    assert raw(machines, ShapeRow()) == [100.0] * 3
    assert raw(machines, ShapeRow(annotations={"firmament.io/program": "unheard-of"})) == [100.0] * 3


def test_co_runners_are_the_tasks_on_the_machine():
    # big: (10 + 40) / 2 = 25 in the mean, 10 alone, 40 next to a devil; small: 20. The best is 10.
    samples = records(run("big", 10, coRunners={}), run("big", 40, coRunners={"devil": 1}), run("small", 20))
    machines = machine_columns(
        {**BIG_BIG_SMALL, "b3": {TYPE: "big"}}, residents=[(1, DEVIL, 1), (3, SHEEP, 1)], records=samples
    )
    core = 48 / 100
    assert raw(machines) == pytest.approx(
        [
            100.0,
            400.0 + core,
            200.0,
            250.0 + core,
        ]  # alone; next to the devil; by type; by type: never beside a sheep
    )


def test_bad_neighbours_are_held_against_a_machine_however_good_its_type():
    samples = records(run("big", 10), run("big", 90, coRunners={"devil": 2}), run("small", 60))
    machines = machine_columns(BIG_BIG_SMALL, residents=[(0, DEVIL, 2)], records=samples)
    found = raw(machines)
    assert found[0] > found[2] > found[1]


def test_co_runners_count_by_number_and_type_of_machine():
    samples = records(run("big", 10, coRunners={"sheep": 2}), run("small", 20, coRunners={"sheep": 2}))
    machines = machine_columns(
        BIG_BIG_SMALL, residents=[(0, SHEEP, 2), (1, SHEEP, 3), (2, SHEEP, 2)], records=samples
    )
    assert np.argsort(raw(machines)).tolist() == [0, 1, 2]


def test_fullness_costs_as_much_as_the_cores_of_the_original():
    machines = machine_columns("abc", residents=[(1, SHEEP, 50), (2, SHEEP, 100)])
    assert raw(machines) == [100.0, 124.0, 148.0]
    assert WhareMap().crowding(machines, np.array([1, 1, 1])).tolist() == [0.48] * 3


def test_machine_types_come_from_labels_or_else_from_capacity():
    labels: Mapping[str, Mapping[str, str]] = {
        "own": {"firmament.io/machine-type": "big", TYPE: "small"},
        "cloud": {TYPE: "small"},
        "plain": {},
    }
    samples = records(run("big", 10), run("small", 20), run("cpu=1000,memory=1000", 40), run("row-7", 80))
    assert raw(machine_columns(labels, records=samples)) == [100.0, 200.0, 400.0]
    other = machine_columns({"m": {"row": "row-7"}}, records=samples)
    assert raw(other, machineTypeLabels=["row"]) == [800.0]


@pytest.mark.parametrize(
    ("payload", "fault"),
    [
        (b"\xff", "the payload is not valid JSON"),
        (b"[]", "the payload is not a JSON object"),
        (json.dumps(run("big", 0)), "runtimeSeconds is not a number from 1e-06 to 1e+09"),
        (json.dumps(run("big", float("nan"))), "runtimeSeconds is not a number from 1e-06 to 1e+09"),
        (json.dumps(run("big", 1) | {"instructions": 0}), "instructions is not a number from 1 to 1e+24"),
        (json.dumps(run("big", 1) | {"instructions": True}), "instructions is not a number from 1 to 1e+24"),
        (json.dumps(run("", 1)), "machineType is not a non-empty text"),
        (json.dumps(run("big", 1) | {"program": 7}), "program is not a non-empty text"),
        (json.dumps(run("big", 1, count=0)), "count is not a whole number from 1 to 1000000000"),
        (
            json.dumps(run("big", 1, coRunners={"wolf": 1})),
            "coRunners is not an object with keys among turtle",
        ),
        (json.dumps(run("big", 1, coRunners={"devil": 0.5})), "coRunners.devil is not a whole number from 0"),
        (json.dumps(run("big", 1, runtime=5)), "unknown key 'runtime'"),
    ],
)
def test_bad_samples_are_ignored_and_remarked_on(payload: str | bytes, fault: str):
    bad = {"bad": payload.encode() if isinstance(payload, str) else payload}
    given = {RECORD_KIND: bad | records(run("big", 10), run("small", 30))[RECORD_KIND]}
    answer = WhareMap().assess(machine_columns(BIG_BIG_SMALL, records=given), shape_batch(SORT))
    assert answer.raw.tolist() == [[100.0, 100.0, 300.0]]
    (note,) = answer.notes
    assert note.startswith(f"record WhareMapSample/'bad': {fault}")
    assert note.endswith("; it is ignored")


def test_bad_arguments_are_refused():
    with pytest.raises(ModelArgumentError, match=r"^whare_map: machineTypeLabels is 7; it must be a list"):
        load_model("whare_map", {"machineTypeLabels": 7})


def test_it_conforms_with_samples_and_residents():
    samples = records(
        run("big", 1e9), run("big", 1e-6, coRunners={"devil": 1}), run("small", 3, coRunners={"sheep": 500})
    )
    machines = machine_columns(BIG_BIG_SMALL, residents=[(0, DEVIL, 1), (2, SHEEP, 500)], records=samples)
    check_model(WhareMap(), [Case("samples", machines, shape_batch(SORT, ShapeRow(), DEVIL))])


# --- in the scheduler -----------------------------------------------------------------------------------------------

PROGRAM = (("firmament.io/program", "sort"),)


def upserts(*samples: object) -> list[RecordUpserted]:
    return [RecordUpserted(RECORD_KIND, name, each) for name, each in records(*samples)[RECORD_KIND].items()]


def test_tasks_go_where_their_program_ran_fast_until_it_is_full():
    core = scheduler(
        *(machine(name, cpu=200, labels=labels) for name, labels in BIG_BIG_SMALL.items()),
        upserts(run("big", 10), run("small", 30)),
        tasks(1, *uids("t", 5), content=task_class(annotations=PROGRAM)),
        policy="whare_map",
    )
    assert sorted(placed(core.run_round()).values()) == ["b1", "b1", "b2", "b2", "s1"]


def test_tasks_keep_away_from_neighbours_that_slowed_them_down():
    core = scheduler(
        machine("b1", labels={TYPE: "big"}),
        machine("b2", labels={TYPE: "big"}),
        upserts(run("big", 10), run("big", 30, coRunners={"devil": 1})),
        tasks(1, content=task_class(labels=(("taskType", "devil"),))),
        tasks(2, content=task_class()),
        TasksBound("b1", 1, ("d",)),
        TasksBound("b2", 2, ("s1", "s2", "s3")),
        tasks(3, "t", content=task_class(annotations=PROGRAM)),
        policy="whare_map",
    )
    assert placed(core.run_round()) == {"t": "b2"}


def test_an_overlay_may_outweigh_the_machine_type():
    for dear, expected in ((150.0, "b1"), (250.0, "s1")):  # small costs 200 points more
        core = scheduler(
            machine("b1", labels={TYPE: "big"}),
            machine("s1", labels={TYPE: "small"}),
            upserts(run("big", 10), run("small", 30)),
            tasks(1, "t", content=task_class(annotations=PROGRAM)),
            policy="whare_map",
            overlays=[WeightedModel(Stated(flat(dear / 5, 0.0)), weight=5)],
        )
        assert placed(core.run_round()) == {"t": expected}
