"""Penalties, interference and load, worked by hand; and what they lead to."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cost_models.checks.sample_inputs import Case
from cost_models.conformance import check_crowding_follows_requests, check_model
from cost_models.firmament_policies.coco import PENALTIES, Coco
from cost_models.firmament_policies.forecast import best_grouping
from cost_models.firmament_policies.task_types import TaskType
from cost_models.interface import MachineColumns, ModelArgumentError, ShapeRow
from cost_models.registry import load_model
from firmament.core.configuration import WeightedModel
from firmament.core.events import TasksBound
from tests.cost_models.columns import machine_columns, shape_batch
from tests.cost_models.mixed import interference, mixed_machines, mixed_tasks
from tests.support.core import GIB, machine, placed, scheduler, task_class, tasks, uids
from tests.support.models import Stated, flat

KINDS = {kind: ShapeRow(labels={"taskType": kind.name}) for kind in TaskType}
TURTLE, SHEEP, RABBIT, DEVIL = (KINDS[kind] for kind in TaskType)


def raw(machines: MachineColumns, *rows: ShapeRow, **args: object) -> list[list[float]]:
    """Figures of each shape, asked for one by one: alone in a batch there is nothing to forecast."""
    model = Coco(**args)
    return [model.assess(machines, shape_batch(row)).raw[0].tolist() for row in rows]


@pytest.mark.parametrize(
    ("resident", "newcomers", "all_four"),
    [
        (TURTLE, [50.0, 50.0, 50.0, 50.0], 200.0),
        (SHEEP, [10.0, 50.0, 100.0, 200.0], 360.0),
        (RABBIT, [10.0, 50.0, 200.0, 1000.0], 1260.0),
        (DEVIL, [10.0, 200.0, 1000.0, 200.0], 1410.0),
    ],
)
def test_the_penalties_of_the_original(resident: ShapeRow, newcomers: list[float], all_four: float):
    # One resident on 100 slots: S e^(1/100) on top of what the newcomer (turtle, sheep, rabbit, devil) pays for it.
    machines = machine_columns("m", residents=[(0, resident, 1)])
    found = [figures[0] for figures in raw(machines, TURTLE, SHEEP, RABBIT, DEVIL)]
    assert found == pytest.approx([paid + all_four * math.exp(0.01) for paid in newcomers])


def test_penalties_and_interference_add_up_over_residents():
    # A rabbit next to 2 sheep and 1 devil: 2 x 100 + 1000; S = 2 x 360 + 1410; 3 of 100 slots are busy.
    machines = machine_columns("mn", residents=[(1, SHEEP, 2), (1, DEVIL, 1)])
    assert raw(machines, RABBIT)[0] == pytest.approx([0.0, 1200.0 + 2130.0 * math.exp(0.03)])


def test_interference_grows_with_how_busy_a_machine_is():
    machines = machine_columns("m", capacity=(4, 1_000, 1_000), residents=[(0, SHEEP, 4)])
    assert raw(machines, SHEEP) == [[pytest.approx(4 * 50.0 + 4 * 360.0 * math.e)]]


def test_load_is_in_thousandths_of_each_dimension():
    # A quarter of the cpu and half of the memory is taken on m, all of both on n.
    machines = machine_columns("mno", free=[(100, 750, 500), (100, 0, 0), (100, 1_000, 1_000)])
    assert raw(machines, SHEEP) == [[750.0, 2000.0, 0.0]]
    assert raw(machines, SHEEP, dimensions=["memory"]) == [[500.0, 1000.0, 0.0]]
    assert raw(machines, SHEEP, dimensions=["example.com/unheard-of"]) == [[0.0, 0.0, 0.0]]


def test_what_is_measured_counts_if_it_is_more_than_what_is_reserved():
    free = [(100, 750, 1_000), (100, 750, 1_000), (100, 1_000, 1_000)]
    usage = [(0, 100.0, 300.0), (0, 600.0, 0.0), (0, 5_000.0, math.nan)]
    machines = machine_columns("mno", free=free, usage=usage)
    assert raw(machines, SHEEP) == [[550.0, 600.0, 1000.0]]


def test_a_dimension_that_a_machine_lacks_costs_nothing():
    machines = machine_columns("m", capacity=(100, 1_000, 0), free=[(100, 500, 0)])
    assert raw(machines, SHEEP) == [[500.0]]


def test_without_known_residents_load_is_left():
    machines = machine_columns("m", free=[(100, 900, 1_000)])
    assert Coco().assess(machines, shape_batch(DEVIL)).raw.tolist() == [[100.0]]


def test_each_task_of_a_round_adds_its_load_its_interference_and_its_penalty():
    # A rabbit of a tenth of both: 200 of load, 200 for a rabbit next to a rabbit, 1260 of interference.
    growth = Coco().assess(machine_columns("m"), shape_batch(RABBIT)).growth
    assert growth is not None
    assert growth.tolist() == [pytest.approx(1660.0)]
    # Half turtles, half devils: 200 + (50 + 200) / 2 + (200 + 1410) / 2.
    growth = Coco().assess(machine_columns("m"), shape_batch(TURTLE, DEVIL, counts=[7, 7])).growth
    assert growth is not None
    assert growth.tolist() == [pytest.approx(200.0 + 125.0 + 805.0)]
    # Asked without types: a sheep.
    assert Coco().crowding(machine_columns("m"), np.array([1, 100, 100])).tolist() == [pytest.approx(610.0)]


def test_types_of_one_round_are_kept_apart_by_the_forecast():
    machines = machine_columns("abcd")
    figures = Coco().assess(machines, shape_batch(RABBIT, DEVIL, counts=[6, 6])).raw
    # Two machines are meant for each; three of the others are expected on those of the others.
    assert sorted(figures[0].tolist()) == [0.0, 0.0, 3000.0, 3000.0]
    assert (figures[0] + figures[1]).tolist() == [3000.0] * 4


def test_the_forecast_follows_what_types_need():
    machines = machine_columns([f"m{index}" for index in range(8)])
    figures = Coco().assess(machines, shape_batch(SHEEP, DEVIL, counts=[10, 30])).raw
    assert np.count_nonzero(figures[0] == 0.0) == 2  # a quarter is meant for sheep
    assert np.unique(figures[0]).tolist() == [0.0, 5 * 200.0]  # 30 devils on 6 machines
    assert np.unique(figures[1]).tolist() == [0.0, 5 * 200.0]  # 10 sheep on 2 machines


def test_types_that_do_not_mind_each_other_share_machines():
    machines = machine_columns([f"m{index}" for index in range(8)])
    figures = Coco().assess(machines, shape_batch(TURTLE, DEVIL, counts=[10, 30])).raw
    assert figures.tolist() == [[30 / 8 * 10.0] * 8, [10 / 8 * 50.0] * 8]


@pytest.mark.parametrize(
    ("each", "groups"),
    [
        # Two tasks per machine: a devil with a turtle, a rabbit with a sheep.
        (20, [{TaskType.TURTLE, TaskType.DEVIL}, {TaskType.RABBIT, TaskType.SHEEP}]),
        # One per machine or fewer: nobody has a neighbour if all stay apart.
        (10, [{TaskType.DEVIL}, {TaskType.RABBIT}, {TaskType.SHEEP}, {TaskType.TURTLE}]),
    ],
)
def test_types_are_grouped_so_that_they_disturb_each_other_least(each: int, groups: list[set[TaskType]]):
    waiting, needs = np.full(4, float(each)), np.full(4, 0.25)
    found, quotas = best_grouping(waiting, needs, 40, PENALTIES)
    assert [set(group) for group in found] == groups
    assert quotas == [40 // len(groups)] * len(groups)


def test_with_fewer_machines_than_groups_types_share():
    found, quotas = best_grouping(np.full(4, 5.0), np.full(4, 0.25), 1, PENALTIES)
    assert ([set(group) for group in found], quotas) == ([set(TaskType)], [1])
    assert best_grouping(np.full(4, 5.0), np.full(4, 0.25), 0, PENALTIES) == ((), ())


def test_the_forecast_leaves_machines_without_room_and_needs_of_nothing_alone():
    full = machine_columns("abc", free=[(0, 500, 500)] * 3)
    alone = raw(full, RABBIT, DEVIL)
    assert Coco().assess(full, shape_batch(RABBIT, DEVIL)).raw.tolist() == alone
    nothing = machine_columns("ab")
    batch = shape_batch(RABBIT, DEVIL, request=(0, 0, 0))
    assert Coco().assess(nothing, batch).raw.tolist() == [[0.0, 0.0]] * 2


def test_devils_choose_machines_away_from_running_rabbits():
    machines = machine_columns("abcd", residents=[(0, RABBIT, 1), (3, RABBIT, 1)])
    figures = Coco().assess(machines, shape_batch(SHEEP, DEVIL, counts=[4, 4])).raw
    assert set(np.argsort(figures[1])[:2].tolist()) == {1, 2}
    # b and c are meant for the devils: sheep pay for two of them there, but for the rabbit alone on a and d.
    assert figures[0].tolist() == pytest.approx(
        [50.0 + 1260.0 * math.exp(0.01) if rabbit else 2 * 200.0 for rabbit in (1, 0, 0, 1)]
    )


def test_unknown_types_count_as_sheep_and_are_remarked_on():
    machines = machine_columns("m", residents=[(0, DEVIL, 1)])
    wolf = ShapeRow("ns", {"taskType": "wolf"})
    answer = Coco().assess(machines, shape_batch(wolf))
    assert answer.raw.tolist() == raw(machines, SHEEP)
    assert [note.partition(":")[0] for note in answer.notes] == [
        "pods in namespace ns with label taskType='wolf'"
    ]


@pytest.mark.parametrize("args", [{"dimensions": "cpu"}, {"dimensions": []}, {"weights": [1]}])
def test_bad_arguments_are_refused(args: dict[str, object]):
    with pytest.raises(ModelArgumentError, match=r"^coco: "):
        load_model("coco", args)


def test_the_table_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        PENALTIES[0, 0] = 1.0


def test_it_conforms_with_types_and_residents():
    machines = machine_columns("mn", residents=[(0, RABBIT, 3), (1, TURTLE, 200)])
    case = Case("types", machines, shape_batch(*KINDS.values(), counts=[1, 0, 5, 500]))
    check_model(Coco(), [case])
    check_crowding_follows_requests(Coco())


# --- in the scheduler -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batches", [1, 5])
def test_interference_is_lower_than_under_the_default_policy(batches: int):
    found = {}
    for policy in ("cpu_mem", "coco"):
        core = scheduler(mixed_machines(20), policy=policy)
        placement: dict[str, str] = {}
        types: dict[str, TaskType] = {}
        for batch in range(batches):
            events, type_of = mixed_tasks(batch, each=40 // batches)
            core.apply(events)
            placement |= placed(core.run_round())
            types |= type_of
        assert len(placement) == 160
        found[policy] = interference(placement, types)
    assert found["coco"] < 0.8 * found["cpu_mem"]


def test_a_rabbit_avoids_the_machine_of_a_devil_though_it_is_emptier():
    devil, rabbit, turtle = (
        task_class(labels=(("taskType", name),)) for name in ("Devil", "Rabbit", "Turtle")
    )
    core = scheduler(
        machine("hell"),
        machine("pond"),
        tasks(1, content=devil),
        tasks(2, content=turtle),
        TasksBound("hell", 1, ("d",)),
        TasksBound("pond", 2, ("t1", "t2")),
        tasks(3, "r", content=rabbit),
        policy="coco",
    )
    assert placed(core.run_round()) == {"r": "pond"}


def test_equal_tasks_are_spread_evenly():
    core = scheduler(*(machine(f"m{index}") for index in range(6)), tasks(1, *uids("t", 18)), policy="coco")
    assert np.unique(list(placed(core.run_round()).values()), return_counts=True)[1].tolist() == [3] * 6


def test_interference_does_not_keep_what_fits_from_being_placed():
    core = scheduler(
        machine("m", cpu=1_000, memory=GIB),
        tasks(1, *uids("d", 5), content=task_class(labels=(("taskType", "devil"),))),
        tasks(2, *uids("r", 5), content=task_class(labels=(("taskType", "rabbit"),))),
        policy="coco",
    )
    assert len(placed(core.run_round())) == 10


def test_an_overlay_may_outweigh_interference():
    devil, rabbit = (task_class(labels=(("taskType", name),)) for name in ("Devil", "Rabbit"))
    for dear, expected in ((0.0, "pond"), (60.0, "hell")):  # 1000 + 1410 e^(1/110) are 48.5 points
        core = scheduler(
            machine("hell"),
            machine("pond"),
            tasks(1, content=devil),
            TasksBound("hell", 1, ("d",)),
            tasks(2, "r", content=rabbit),
            policy="coco",
            overlays=[WeightedModel(Stated(flat(0.0, dear)))],
        )
        assert placed(core.run_round()) == {"r": expected}
