"""Transfer costs and preference arcs, worked by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from cost_models.checks.sample_inputs import Case
from cost_models.conformance import check_model
from cost_models.firmament_policies.input_locations import ANNOTATION
from cost_models.firmament_policies.quincy import Quincy
from cost_models.interface import Assessment, MachineColumns, ModelArgumentError, ShapeRow
from cost_models.registry import load_model
from firmament.core.configuration import WeightedModel
from tests.cost_models.columns import machine_columns, shape_batch
from tests.cost_models.data_local import data_local
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids
from tests.support.models import Stated, flat

GIB = 2**30
RACK = "topology.kubernetes.io/rack"
ZONE = "topology.kubernetes.io/zone"

RACKS = machine_columns(
    {"a1": {RACK: "a"}, "a2": {RACK: "a"}, "a3": {RACK: "a"}, "b1": {RACK: "b"}, "b2": {RACK: "b"}}
)


def block(gib: float, **where: str | list[str]) -> dict[str, object]:
    return {"bytes": int(gib * GIB), **where}


def reader(*blocks: object) -> ShapeRow:
    return ShapeRow(annotations={ANNOTATION: json.dumps(blocks)})


def figures(answer: Assessment, machines: MachineColumns) -> list[list[float]]:
    """What every machine costs every shape, sparse arcs put in."""
    full = np.broadcast_to(answer.raw, (len(answer.raw), machines.count)).copy()
    if answer.sparse is not None:
        full[answer.sparse.shape, answer.sparse.machine] = answer.sparse.raw
    return full.tolist()


def costs(*blocks: object, machines: MachineColumns = RACKS, **args: object) -> list[float]:
    return figures(Quincy(**args).assess(machines, shape_batch(reader(*blocks))), machines)[0]


def test_transfer_costs_per_gib():
    # 10 GiB on a1: nothing to move there, 10 x 1 within its rack, 10 x 2 across the core.
    assert costs(block(10, machine="a1")) == [0.0, 10.0, 10.0, 20.0, 20.0]


def test_input_in_several_places():
    # Input 12: a1 has 6, a2 has 2, b1 has 4. Rack a has 8, rack b 4.
    # a1: 1 x (8-6) + 2 x (12-8) = 10; a2: 6 + 8 = 14; worst of rack a (a3): 8 + 8 = 16.
    # b1: 0 + 2 x 8 = 16; worst of rack b (b2): 4 + 16 = 20.
    found = costs(block(6, machine="a1"), block(2, machine="a2"), block(4, machine="b1"))
    assert found == [10.0, 14.0, 16.0, 16.0, 20.0]


def test_only_a_tenth_of_the_input_makes_a_preference():
    # a1 has 1 of 10: preferred. With 0.9 it is not, and costs as much as its rack's worst machine: the rack has all.
    assert costs(block(1, machine="a1"), block(9, rack="a"))[:2] == [9.0, 10.0]
    assert costs(block(0.9, machine="a1"), block(9.1, rack="a"))[:2] == pytest.approx([10.0, 10.0])


def test_a_rack_below_a_tenth_costs_what_the_cluster_costs():
    # Rack b has 0.5 of 10, so its machines cost the worst of all: everything but nothing is at hand.
    found = costs(block(9.5, machine="a1"), block(0.5, machine="b1"))
    assert found[3:] == [1 * 0.5 + 2 * 9.5] * 2
    arcs = (
        Quincy().assess(RACKS, shape_batch(reader(block(9.5, machine="a1"), block(0.5, machine="b1")))).sparse
    )
    assert arcs is not None
    assert arcs.machine.tolist() == [0, 1, 2]


def test_a_block_counts_once_per_rack_however_many_copies_are_there():
    # Three copies of 4 GiB: two in rack a, one on b2.
    assert costs(block(4, machine=["a1", "a2", "b2"])) == [0.0, 0.0, 4.0, 4.0, 0.0]


def test_where_every_machine_of_a_rack_holds_some_the_worst_is_the_one_with_the_least():
    # b1 has 1, b2 has 20 and no third machine is in the rack; b1 is below a tenth: it costs 20 within the rack.
    assert costs(block(1, machine="b1"), block(20, machine="b2"))[3:] == [20.0, 1.0]


def test_the_worst_machine_is_found_anew_when_machines_change():
    fewer = machine_columns({"a1": {RACK: "a"}, "a2": {RACK: "a"}})
    held = [block(4, machine="a1"), block(0.1, machine="a2")]
    assert costs(*held, machines=fewer) == pytest.approx([0.1, 4.0])
    more = machine_columns({"a1": {RACK: "a"}, "a2": {RACK: "a"}, "a3": {RACK: "a"}})
    assert costs(*held, machines=more) == pytest.approx([0.1, 4.1, 4.1])


def test_less_than_a_gib_counts():
    assert costs(block(0.25, machine="a1")) == [0.0, 0.25, 0.25, 0.5, 0.5]


def test_input_on_machines_that_are_unknown_comes_across_the_core():
    assert costs(block(3, machine="elsewhere"), block(1, rack="beyond")) == [8.0] * 5
    assert costs(block(3, machine="elsewhere"), block(3, machine="a1")) == [6.0, 9.0, 9.0, 12.0, 12.0]


def test_zones_stand_in_for_racks_and_machines_without_either_are_alone():
    machines = machine_columns({"z1": {ZONE: "z"}, "z2": {ZONE: "z", RACK: ""}, "n1": {}, "n2": {}})
    assert costs(block(1, machine="z1"), machines=machines) == [0.0, 1.0, 2.0, 2.0]
    assert costs(block(1, machine="n1"), machines=machines) == [2.0, 2.0, 0.0, 2.0]


def test_arguments_change_costs_racks_and_preferences():
    machines = machine_columns({"a1": {"row": "x"}, "a2": {"row": "x"}, "b1": {"row": "y"}})
    assert costs(
        block(1, machine="a1"), machines=machines, torTransferCost=3, coreTransferCost=5, rackLabels=["row"]
    ) == [0.0, 3.0, 5.0]
    # From half of the input on: rack a is preferred, a1 is not.
    shares: dict[str, Any] = {"preferredMachineDataFraction": 0.5, "preferredRackDataFraction": 0.5}
    assert costs(block(4, machine="a1"), block(6, rack="a"), **shares) == [10.0, 10.0, 10.0, 20.0, 20.0]
    assert costs(block(4, machine="a1"), block(6, machine="b1"), **shares) == [16.0, 16.0, 16.0, 8.0, 14.0]


def test_what_has_no_input_costs_nothing():
    answer = Quincy().assess(RACKS, shape_batch(ShapeRow(), reader(), reader(block(0, machine="a1"))))
    assert figures(answer, RACKS) == [[0.0] * 5] * 3
    assert answer.notes == ()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("half a GiB", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ('{"machine": "a1"}', "is not a JSON list"),
        ("[1]", "[0] is not an object"),
        ('[{"bytes": 1, "machine": "a"}, {"bytes": -1, "machine": "a"}]', "[1].bytes is not a whole number"),
        ('[{"bytes": 1e9, "machine": "a"}]', "[0].bytes is not a whole number"),
        ('[{"bytes": true, "machine": "a"}]', "[0].bytes is not a whole number"),
        ('[{"bytes": 1}]', "[0] names neither machine nor rack"),
        ('[{"bytes": 1, "machine": 7}]', "[0].machine is neither a name nor a list of names"),
        ('[{"bytes": 1, "rack": [""]}]', "[0].rack is neither a name nor a list of names"),
        ('[{"bytes": 1, "machines": "a"}]', "[0] has the unknown key 'machines'"),
    ],
)
def test_bad_annotations_count_as_no_input_and_are_remarked_on_once(text: str, fault: str):
    bad = ShapeRow("ns", annotations={ANNOTATION: text})
    answer = Quincy().assess(RACKS, shape_batch(bad, reader(block(1, machine="a1")), bad))
    assert figures(answer, RACKS)[0] == [0.0] * 5
    assert figures(answer, RACKS)[1][0] == 0.0 != figures(answer, RACKS)[1][4]
    (note,) = answer.notes
    assert fault in note
    assert note.startswith(f"pods in namespace ns with annotation {ANNOTATION}=")
    assert note.endswith("they count as having no input")
    assert len(note) < 250


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"torTransferCost": -1}, "quincy: torTransferCost is -1; it must be a number, 0 to 1e+06"),
        ({"torTransferCost": True}, "quincy: torTransferCost is True; it must be a number, 0 to 1e+06"),
        (
            {"torTransferCost": float("nan")},
            "quincy: torTransferCost is nan; it must be a number, 0 to 1e+06",
        ),
        ({"preferredRackDataFraction": 1.5}, "preferredRackDataFraction is 1.5; it must be a number, 0 to 1"),
        ({"torTransferCost": 3}, "coreTransferCost is 2; it must be no less than torTransferCost, 3"),
        ({"rackLabels": "rack"}, "rackLabels is 'rack'; it must be a list of at least one non-empty text"),
        ({"rackLabels": []}, "rackLabels is []; it must be a list of at least one non-empty text"),
        (
            {"racks": 3},
            "quincy: unknown argument 'racks'; known: torTransferCost, coreTransferCost, preferred",
        ),
    ],
)
def test_bad_arguments_are_refused_in_one_line(args: dict[str, object], message: str):
    with pytest.raises(ModelArgumentError) as refused:
        load_model("quincy", args)
    assert message in str(refused.value)


def test_it_conforms_with_input():
    shapes = shape_batch(
        ShapeRow(),
        reader(block(3, machine=["a1", "b1"]), block(1, rack="a"), block(2, machine="elsewhere")),
        reader(block(2**20, machine="b2")),
        reader(block(0, rack="b")),
    )
    check_model(Quincy(), [Case("input", RACKS, shapes)])


# --- in the scheduler -----------------------------------------------------------------------------------------------


def test_it_moves_far_less_across_racks_than_the_default_policy():
    workload = data_local(racks=8, per_rack=10, jobs=24)
    moved = {}
    for policy in ("cpu_mem", "quincy"):
        found = placed(scheduler(workload.events, policy=policy).run_round())
        assert len(found) == len(workload.reads)
        moved[policy] = workload.across_racks(found)
    assert moved["quincy"] <= 0.6 * moved["cpu_mem"]


def test_tasks_fill_the_machine_with_the_data_then_its_rack():
    machines = [machine(name, cpu=200, labels={RACK: name[0]}) for name in ("b1", "a2", "a1", "b2")]
    content = task_class(cpu=100, annotations=((ANNOTATION, json.dumps([block(1, machine="a1")])),))
    core = scheduler(*machines, tasks(1, *uids("t", 5), content=content), policy="quincy")
    found = sorted(placed(core.run_round()).values())
    assert found[:4] == ["a1", "a1", "a2", "a2"]
    assert found[4] in {"b1", "b2"}


def test_an_overlay_may_outweigh_locality():
    machines = [machine(name, labels={RACK: name[0]}) for name in ("a1", "a2", "b1")]
    content = task_class(annotations=((ANNOTATION, json.dumps([block(30, machine="a1")])),))
    for dear, expected in ((20.0, "a1"), (40.0, "a2"), (70.0, "b1")):
        overlay = WeightedModel(Stated(flat(dear, dear if dear > 50 else 0.0, 0.0)))
        core = scheduler(*machines, tasks(1, "t", content=content), policy="quincy", overlays=[overlay])
        assert placed(core.run_round()) == {"t": expected}
