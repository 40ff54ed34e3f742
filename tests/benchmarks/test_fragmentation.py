"""GPUs given away: what pods come, what the ways to place them give, and what bounds it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import combinations_with_replacement
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.commands import fragmentation as commands
from benchmarks.fragmentation.bound import bound_given, list_patterns
from benchmarks.fragmentation.greedy import GreedyCluster, place_greedily
from benchmarks.fragmentation.measure import (
    FragmentationOptions,
    OtherOptionsError,
    measure_fragmentation,
)
from benchmarks.fragmentation.rounds import MODEL, place_in_rounds, state_usual_pods
from benchmarks.fragmentation.summary import fragmentation_sheets, summarise
from benchmarks.fragmentation.trace import (
    ASKED,
    Arrivals,
    NodeType,
    Outcome,
    PodType,
    draw_arrivals,
    list_variants,
)
from benchmarks.reports.charts import sections
from benchmarks.reports.report import load_results
from benchmarks.reports.sheets import Report
from poseidon.ui.report import BarChart
from tests.cost_models.devices.oracle import Node, Pod, fits, fragmentation, loss, place
from tests.support.effort import examples

PODS = (
    PodType(1, 0, 1, 300, ()),
    PodType(2, 0, 1, 700, ()),
    PodType(4, 0, 2, 1000, ()),
    PodType(3, 0, 0, 0, ()),
    PodType(1, 0, 1, 1000, ("large",)),
)
NODES = (NodeType(8, 1, 2, "small", 2), NodeType(16, 1, 4, "large", 2))


def draw(seed: int, pods: int) -> Arrivals:
    """So many pods on four machines, by chance."""
    random = Random(seed)
    return Arrivals(NODES, PODS, (5, 4, 3, 2, 1), tuple(random.choices(range(len(PODS)), k=pods)))


def test_pods_come_until_they_ask_for_more_than_there_is():
    found = draw_arrivals("default", 42, 16)
    asked = sum(found.types[number].asks for number in found.order)
    assert 0.98 * ASKED < asked / found.total <= ASKED
    assert draw_arrivals("default", 42, 16) == found != draw_arrivals("default", 43, 16)
    assert len(list_variants()) == 17
    whole = draw_arrivals("default", 42)
    assert (sum(node.count for node in whole.nodes), whole.total) == (1_213, 6_212_000)


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 30))
def test_no_way_gives_more_than_the_bound(seed: int, pods: int):
    arrivals = draw(seed, pods)
    bound = bound_given(arrivals)
    ways = (
        place_greedily(arrivals, "best-fit"),
        place_greedily(arrivals, "fgd"),
        place_in_rounds(arrivals, 5),
    )
    for each in ways:
        assert 0 <= each.share <= bound_given(arrivals, each.placed) + 1e-9 <= bound + 2e-9
    if sum(arrivals.types[number].asks for number in arrivals.order) <= 1000:
        assert abs(max(each.share for each in ways) - bound) < 1e-9


def test_pods_that_have_places_bound_what_others_may_get():
    types = (PodType(0, 0, 1, 600, ()), PodType(0, 0, 1, 400, ()), PodType(0, 0, 1, 1000, ()))
    nodes = (NodeType(1, 1, 2, "any", 1),)
    arrivals = Arrivals(nodes, types, (1, 1, 1), (0, 0, 1, 2, 2))
    assert [round(bound_given(arrivals, range(first)), 9) for first in range(4)] == [1, 1, 0.8, 0.8]
    assert place_greedily(arrivals, "fgd") == Outcome(0.8, frozenset(range(3)))
    assert place_in_rounds(arrivals, 1) == Outcome(0.8, frozenset(range(3)))
    assert place_in_rounds(arrivals, 1).count_first() == 3
    assert Outcome(0.0, frozenset({0, 2, 3})).list_before_refusals(arrivals.order) == {0, 2, 3}
    assert Outcome(0.0, frozenset({1, 2, 3})).list_before_refusals(arrivals.order) == {2, 3}
    assert Outcome(0.0, frozenset({0, 1, 2})).list_before_refusals(arrivals.order) == {0, 1, 2}


def test_patterns_are_the_sets_of_parts_to_which_none_can_be_added():
    sizes = [230, 320, 470, 810]
    wanted = {
        each
        for count in range(1, 5)
        for each in combinations_with_replacement(sizes[::-1], count)
        if sum(each) <= 1000 < sum(each) + 230
    }
    assert sorted(list_patterns(sizes)) == sorted(wanted)


@settings(max_examples=examples(60))
@given(st.integers(0, 10_000), st.integers(0, 6))
def test_the_table_of_fgd_is_that_of_the_definition(seed: int, placed: int):
    arrivals = draw(seed, placed)
    cluster = GreedyCluster(arrivals, "fgd")
    machine = 3
    for number in arrivals.order:
        if cluster.judge(machine)[number] < float("inf"):
            cluster.place(machine, number)
    node = Node(int(cluster.cpu[machine]), tuple(cluster.gpus[machine].tolist()))
    usual = [
        (Pod(pod.cpu, pod.gpus, pod.milli), count)
        for pod, count in zip(arrivals.types, arrivals.counts, strict=True)
    ]
    for cost, (pod, _) in zip(cluster.judge(machine).tolist(), usual, strict=True):
        assert (cost < float("inf")) == fits(node, pod)
        if fits(node, pod):
            ways = [loss(node, pod, usual)] if pod.gpus != 1 else list(_try_each(node, pod, usual))
            assert abs(cost - min(ways)) < 1e-6


def _try_each(node: Node, pod: Pod, usual: list[tuple[Pod, int]]) -> Iterator[float]:
    """What is lost with the part on each GPU that has enough left."""
    for index, left in enumerate(node.gpus):
        if left >= pod.milli:
            others = tuple(each for at, each in enumerate(node.gpus) if at != index)
            alone = Node(node.cpu, (left,))
            after = place(alone, pod)
            whole = Node(after.cpu, (*others, *after.gpus))
            yield _usable(node, usual) - _usable(whole, usual)


def _usable(node: Node, usual: list[tuple[Pod, int]]) -> float:
    return sum(node.gpus) - fragmentation(node, usual)


def test_few_pods_are_moved():
    arrivals = draw_arrivals("cpu250", 42, 12)
    found = place_in_rounds(arrivals, 20, moves=0.01)
    assert 0 < found.moved <= 0.01 * len(found.placed)
    assert (
        found.share
        == sum(arrivals.types[arrivals.order[each]].asks for each in found.placed) / arrivals.total
    )
    assert place_in_rounds(arrivals, 20).moved == 0


def test_rounds_are_told_how_frequent_pods_are_unless_they_learn_it():
    arrivals = draw_arrivals("gpuspec10", 42, 16)
    stated = state_usual_pods(arrivals)
    assert sum(each["weight"] for each in stated) == sum(arrivals.counts)
    wanted = {"requests": {"cpu": "120000m", "memory": 737280}, "nodeLabels": {MODEL: ["G2"]}}
    assert {"weight": 2, "gpus": 8, "share": 1} | wanted in stated
    told, learned = place_in_rounds(arrivals, 20), place_in_rounds(arrivals, 20, learn=True)
    assert told.placed != learned.placed
    # What is stated decides, whatever comes: pods that never come leave no trace in the placement of the first.
    other = replace(arrivals, counts=tuple(int(not pod.gpus) for pod in arrivals.types))
    assert place_in_rounds(other, 20).share < told.share


def test_results_are_summed_up_by_variant():
    one = {"variant": "default", "seconds": 20.0, "bestFit": 0.93, "fgd": 0.95, "rounds": 0.96, "bound": 0.97}
    two = one | {"seconds": 22.0, "rounds": 0.95, "fgd": 0.94, "bound": 0.96}
    moving = {"variant": "cpu250"} | {way: one[way] for way in one if way != "variant"}
    moving |= {"withMoves": 0.965, "moved": 0.02, "learned": 0.955, "hindsight": 0.963}
    report = {"kind": "fragmentation", "options": {"seeds": 2, "part": 1}, "runs": [one, two, moving]}
    first, second = summarise(report)
    assert (first.runs, first.seconds, first.moved) == (2, 21.0, None)
    assert first.means["rounds"] == pytest.approx(95.5)
    assert first.spreads["rounds"] == pytest.approx(0.5**0.5)
    assert first.find_progress("rounds") == pytest.approx(50)
    assert second.find_progress("withMoves") == pytest.approx(75)
    (sheet,) = fragmentation_sheets(report)
    assert sheet.rows[0][:6] == ["default", "93.00 ± 0.00", "94.50 ± 0.71", "95.50 ± 0.71", "-", "-"]
    assert sheet.rows[0][7:9] == ["96.50", "-"]
    assert sheet.rows[1][3:12] == ["96.00", "95.50", "96.50", "2.00", "97.00", "96.30", "50", "25", "75"]
    assert all(len(row) == len(sheet.headings) for row in sheet.rows)
    chart = sections([report])["fragmentation"].chart
    assert isinstance(chart, BarChart)
    assert [label for label, _, _ in chart.items] == [
        "cpu250, with moves",
        "cpu250, usual pods learned",
        "cpu250",
        "default",
    ]


SMALL = FragmentationOptions(("gpuspec10",), part=400, batch=5)


def test_runs_are_added_to_those_of_an_earlier_result():
    kept: list[Report] = []
    first = measure_fragmentation(SMALL, progress=lambda _: None, keep=kept.append)
    assert kept == [first]
    said: list[str] = []
    two = replace(SMALL, seeds=2, variants=("gpuspec10", "default"))
    both = measure_fragmentation(two, progress=said.append, earlier=first)
    assert said == ["gpuspec10, seed 43", "default, seed 42", "default, seed 43"]
    assert both["runs"][0] == first["runs"][0]
    assert both["options"]["seeds"] == 2
    alone = measure_fragmentation(replace(SMALL, first_seed=43), progress=lambda _: None)
    times = {"seconds": 0.0}
    assert alone["runs"][0] | times == both["runs"][1] | times


def test_runs_measured_otherwise_are_no_part_of_a_result():
    earlier = {"kind": "fragmentation", "options": asdict(replace(SMALL, batch=20)), "runs": []}
    with pytest.raises(OtherOptionsError, match=r"^it was measured with batch 20, not 5$"):
        measure_fragmentation(SMALL, progress=lambda _: None, earlier=earlier)


def test_the_command_adds_runs_to_a_file(tmp_path: Path):
    file = tmp_path / "runs.json"
    options = ["--variant", "gpuspec10", "--part", "400", "--add-to", str(file)]
    for seed, batch, code in (("42", "5", 0), ("43", "5", 0), ("43", "5", 0), ("44", "6", 2)):
        asked = [*options, "--first-seed", seed, "--batch", batch]
        assert CliRunner().invoke(commands.fragmentation, asked).exit_code == code
    (report,) = load_results([file])
    assert [run["seed"] for run in report["runs"]] == [42, 43]
    file.write_text(json.dumps({"kind": "load", "environment": {}}), encoding="utf-8")
    refused = CliRunner().invoke(commands.fragmentation, options)
    assert (refused.exit_code, "a result of 'load'" in refused.output) == (2, True)


def test_the_second_bound_has_places_for_the_pods_that_this_scheduler_placed():
    for seed in (42, 43):
        arrivals = draw_arrivals("default", seed, 100)
        found = place_in_rounds(arrivals, 20)
        (run,) = measure_fragmentation(
            FragmentationOptions(("default",), first_seed=seed, part=100), progress=lambda _: None
        )["runs"]
        assert run["hindsight"] == bound_given(arrivals, found.list_before_refusals(arrivals.order))
        assert run["rounds"] <= run["hindsight"] + 1e-9
