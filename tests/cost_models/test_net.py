"""Free network bandwidth: figures, where they come from, and that nothing is given away twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.checks.sample_inputs import Case
from cost_models.conformance import check_model
from cost_models.firmament_policies.net import ANNOTATION, BANDWIDTH, LABEL, REASON, Net
from cost_models.interface import ModelArgumentError, Residents, ShapeRow
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    MachineSampled,
    MachineUpserted,
    TasksSubmitted,
)
from firmament.core.model import Machine
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import Clock, messages, placed, uids
from tests.support.core import task_class as cls
from tests.support.effort import examples
from tests.support.models import Stated, flat
from tests.support.policies import machines, shapes

NETWORK = ("pods", BANDWIDTH)
ORIGINAL = 1_280_000
"""The original's constant; with it the model gives the original's figures."""


def wanting(amount: object) -> ShapeRow:
    return ShapeRow(labels={LABEL: str(amount)})


def node(name: str, bandwidth: int, *, annotated: bool = False) -> MachineUpserted:
    """A machine that offers the resource, or says by annotation what it has."""
    allocatable = {"cpu": 100_000, "pods": 1_000}
    if annotated:
        return MachineUpserted(Machine(name, allocatable, annotations={ANNOTATION: str(bandwidth)}))
    return MachineUpserted(Machine(name, {**allocatable, BANDWIDTH: bandwidth}))


def core(*events: Event, link: int = 1_000, overlays: Sequence[WeightedModel] = ()) -> Scheduler:
    made = Scheduler(
        configuration=CoreConfiguration(WeightedModel(Net(link)), overlays=tuple(overlays)),
        solver=OrToolsSolver(),
        clock=Clock(),
    )
    made.apply(events)
    return made


def waiting(number: int, count: int, *, label: object = None, resource: int = 0) -> list[Event]:
    labels = () if label is None else ((LABEL, str(label)),)
    requests = ((BANDWIDTH, resource), ("cpu", 1)) if resource else (("cpu", 1),)
    content = cls(requests=requests, labels=labels)
    return [ClassDefined(number, content), TasksSubmitted(number, uids(f"t{number}", count))]


def test_the_figures_of_the_original():
    # avail 1,000,000 less 250,000 in use; slot i costs i x req - avail + 1,280,000.
    columns = machines("m", resources=NETWORK, capacity=[[10, 1_000_000]], usage=[[0, 250_000]])
    answer = Net(ORIGINAL).assess(columns, shapes(wanting(50_000), requests=[[1, 0]]))
    assert answer.growth is not None
    slots = [i * 50_000 - 750_000 + 1_280_000 for i in (1, 2, 3)]
    assert [answer.raw[0, 0] + i * answer.growth[0] for i in range(3)] == slots == [580_000, 630_000, 680_000]


def test_the_resource_counts_and_the_larger_of_the_two_wishes():
    columns = machines("m", resources=NETWORK, capacity=[[10, 900]])
    rows = shapes(ShapeRow(), wanting(30), wanting(10), requests=[[1, 20], [1, 20], [1, 20]])
    answer = Net(1_000).assess(columns, rows)
    assert answer.raw.tolist() == [[120.0], [130.0], [120.0]]
    assert answer.joint[0].amount.tolist() == [20, 30, 20]
    assert answer.joint[0].limit.tolist() == [900]
    assert Net().crowding(columns, np.array([1, 20])).tolist() == [20.0]


def test_what_is_left_is_what_neither_tasks_ask_for_nor_measurements_show():
    columns = machines(
        *("measured", "reserved", "overloaded", "unmeasured"),
        resources=NETWORK,
        capacity=[[10, 1_000]] * 4,
        free=[[10, 900], [10, 300], [10, 500], [10, 400]],
        usage=[[0, 350.5], [0, 10], [0, 2_000], [np.nan, np.nan]],
    )
    answer = Net(1_000).assess(columns, shapes(wanting(1), requests=[[1, 0]]))
    booked, beside = answer.joint
    assert np.minimum(booked.limit, beside.limit)[:3].tolist() == [649, 300, 0]
    assert (booked.limit[3], beside.row_of[3]) == (400, -1)


def test_tasks_that_say_by_label_what_they_need_count_where_they_run():
    residents = Residents(
        machine=np.array([0, 1]),
        kind=np.array([0, 1]),
        count=np.array([3, 2]),
        kinds=(wanting(100), wanting("odd")),
        requests=np.zeros((2, 2), dtype=np.int64),
    )
    columns = machines("a", "b", resources=NETWORK, capacity=[[10, 1_000], [10, 1_000]], residents=residents)
    answer = Net(1_000).assess(columns, shapes(wanting(1), requests=[[1, 0]]))
    assert answer.joint[0].limit.tolist() == [700, 1_000]


def test_an_annotation_stands_in_for_the_resource():
    columns = machines(
        *("offers", "says", "neither"),
        resources=NETWORK,
        capacity=[[10, 500], [10, 0], [10, 0]],
        annotations=[{ANNOTATION: "9"}, {ANNOTATION: "700"}, {}],
    )
    answer = Net(1_000).assess(columns, shapes(wanting(100), requests=[[1, 0]]))
    assert answer.joint[0].limit.tolist() == [500, 700, 0]
    assert answer.raw.tolist() == [[600.0, 400.0, 1_000.0]]
    unknown = machines("says", resources=("pods",), annotations=[{ANNOTATION: "700"}])
    assert Net(1_000).assess(unknown, shapes(wanting(100), requests=[[1]])).raw.tolist() == [[400.0]]


def test_machines_faster_than_the_fastest_cost_nothing_and_keep_their_room():
    columns = machines("m", resources=NETWORK, capacity=[[10, 5_000]])
    answer = Net(1_000).assess(columns, shapes(wanting(100), requests=[[1, 0]]))
    assert answer.raw.tolist() == [[0.0]]
    assert answer.joint[0].limit.tolist() == [5_000]


@pytest.mark.parametrize("text", ["fast", "-1", "1.5", "", "1e3", "10M", "٣", str(2**53 + 1), "9" * 5_000])
def test_text_that_is_no_amount_is_noted_and_counts_as_absent(text: str):
    columns = machines("m", resources=NETWORK, capacity=[[10, 0]], annotations=[{ANNOTATION: text}])
    answer = Net(1_000).assess(columns, shapes(wanting(text), requests=[[1, 0]]))
    assert answer.raw.tolist() == [[1_000.0]]
    assert answer.joint == ()
    fault = "not a whole number of bits per second from 0 to 2**53"
    assert answer.notes == (
        f"net: pods with label networkRequirement={text!r}: {fault}; they count as without the label",
        f"net: node m: annotation firmament.io/network-bandwidth={text!r}: {fault}; it counts as absent",
    )


@pytest.mark.parametrize("link", [0, -1, 1.5, True, "10G", 2**53 + 1])
def test_a_link_without_bandwidth_is_refused(link):
    with pytest.raises(
        ModelArgumentError, match=r"^net: linkBandwidth is .*; it must be a whole number from 1"
    ):
        load_model("net", {"linkBandwidth": link})


def test_it_conforms_with_bandwidth():
    columns = machines("a", "b", resources=NETWORK, capacity=[[10, 1_000], [10, 0]], usage=[[0, 10], [0, 0]])
    check_model(
        Net(), [Case("bandwidth", columns, shapes(wanting(100), wanting("?"), requests=[[1, 0]] * 2))]
    )


def test_most_free_bandwidth_first_and_rising_with_each_task():
    made = core(node("fast", 900), node("slow", 600), *waiting(1, 9, label=100))
    # fast takes three until it is level with slow, then they take turns.
    assert Counter(placed(made.run_round()).values()) == {"fast": 6, "slow": 3}


def test_classes_do_not_overfill_a_machine_together():
    # The original gave each class slots of its own: 2 x 4 x 100 on a machine with 500.
    made = core(node("m", 500), *waiting(1, 4, label=100), *waiting(2, 4, resource=100))
    result = made.run_round()
    assert len(placed(result)) == 5
    assert {text for text in messages(result).values() if REASON in text}


def test_bandwidth_that_is_not_measured_yet_is_not_given_away_again():
    made = core(node("m", 500, annotated=True), *waiting(1, 4, label=100))
    first = made.run_round()
    assert len(placed(first)) == 4
    made.report([BindingReport(delta.uid, delta.machine, bound=True) for delta in first.deltas])
    made.apply([MachineSampled("m", 1_000_001.0, {BANDWIDTH: 0.0})])
    made.apply(waiting(2, 4, label=100))
    assert len(placed(made.run_round())) == 1


def test_measured_use_of_others_is_left_to_them():
    made = core(node("m", 500), MachineSampled("m", 1.0, {BANDWIDTH: 320.0}), *waiting(1, 4, label=100))
    assert len(placed(made.run_round())) == 1


def test_tasks_that_need_no_bandwidth_run_where_there_is_none():
    made = core(node("m", 0, annotated=True), *waiting(1, 2), *waiting(2, 1, label=1))
    assert set(placed(made.run_round())) == {"t1-0", "t1-1"}


def test_an_overlay_adds_to_it():
    made = core(
        node("fast", 900),
        node("slow", 600),
        *waiting(1, 1, label=100),
        overlays=[WeightedModel(Stated(flat(31.0, 0.0)))],
    )
    assert placed(made.run_round()) == {"t1-0": "slow"}


@settings(max_examples=examples(40))
@given(
    st.lists(st.tuples(st.integers(0, 50), st.booleans()), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 20), st.booleans()), min_size=1, max_size=5),
)
def test_no_sequence_of_rounds_gives_away_more_than_there_is(
    nodes: list[tuple[int, bool]], classes: list[tuple[int, int, bool]]
):
    made = core(*(node(f"m{index}", amount, annotated=says) for index, (amount, says) in enumerate(nodes)))
    taken: Counter[str] = Counter()
    for number, (count, amount, by_label) in enumerate(classes, start=1):
        made.apply(
            waiting(number, count, label=amount) if by_label else waiting(number, count, resource=amount)
        )
        for delta in made.run_round().deltas:
            taken[delta.machine] += classes[int(delta.uid[1:].split("-")[0]) - 1][1]
    for index, (bandwidth, _) in enumerate(nodes):
        assert taken[f"m{index}"] <= bandwidth
