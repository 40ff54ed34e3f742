"""Koordinator's annotations: read as Go would, and noted where they cannot be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cost_models.interface import ShapeRow
from cost_models.load_aware.annotations import (
    AFTER_INITIALIZED,
    AFTER_SCHEDULED,
    FACTORS,
    RAW_ALLOCATABLE,
    RESERVE_POD,
    THRESHOLDS,
    UnreadableError,
    custom_thresholds,
    node_annotations,
    pod_annotations,
    raw_allocatable,
)
from cost_models.load_aware.arguments import Aggregation
from firmament.core.events import ClassDefined, MachineSampled, MachineUpserted, TasksBound, TasksSubmitted
from firmament.core.model import Machine, TaskClass
from tests.cost_models.load_aware.scenes import NOW, overlay, verdicts
from tests.support.core import Clock, scheduler

GIB = 2**30


def test_thresholds_of_a_node():
    found = custom_thresholds(
        '{"usageThresholds":{"cpu":70},"prodUsageThresholds":{"cpu":50,"memory":null},"other":[1],'
        '"aggregatedUsage":{"usageThresholds":{"cpu":60},"usageAggregationType":"p95",'
        '"usageAggregatedDuration":"5m0s"}}'
    )
    assert (found.usage, found.prod, found.aggregated) == ({"cpu": 70}, {"cpu": 50, "memory": 0}, {"cpu": 60})
    assert found.aggregation == Aggregation("p95", 300.0)


@pytest.mark.parametrize(
    "aggregated", ['{"usageThresholds":{"cpu":60}}', '{"usageAggregationType":"p95"}', "{}", "null"]
)
def test_aggregated_thresholds_that_lack_a_part_do_not_count(aggregated: str):
    found = custom_thresholds('{"usageThresholds":{"cpu":70},"aggregatedUsage":%s}' % aggregated)  # noqa: UP031
    assert (found.usage, found.aggregated) == ({"cpu": 70}, {})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"usageThresholds":7}',
        '{"usageThresholds":{"cpu":"70"}}',
        '{"usageThresholds":{"cpu":70.5}}',
        '{"usageThresholds":{"cpu":NaN}}',
        '{"usageThresholds":{"cpu":true}}',
        '{"usageThresholds":{"cpu":99999999999999999999}}',
        '{"aggregatedUsage":[]}',
        '{"aggregatedUsage":{"usageAggregatedDuration":300}}',
    ],
)
def test_thresholds_that_cannot_be_read_count_as_absent_and_are_noted(text: str):
    with pytest.raises(UnreadableError):
        custom_thresholds(text)
    found = node_annotations(["n0", "n1"], [{}, {THRESHOLDS: text}])
    assert found.thresholds == {}
    (note,) = found.notes
    assert note.startswith(f"load_threshold: node n1: annotation {THRESHOLDS}={text!r}: ")
    assert note.endswith("; it is ignored")


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ('{"cpu":28,"memory":"32Gi"}', {"cpu": 28_000, "memory": 32 * GIB}),
        ('{"cpu":"1500m","example.com/gpu":"2"}', {"cpu": 1_500, "example.com/gpu": 2}),
        ('{"cpu":0.0001,"memory":1.5}', {"cpu": 1, "memory": 2}),  # rounded up
        ('{"cpu":"1e3","memory":"1k"}', {"cpu": 1_000_000, "memory": 1_000}),
        ("null", {}),
    ],
)
def test_what_a_node_really_offers(text: str, amounts: dict[str, int]):
    assert raw_allocatable(text) == amounts


@pytest.mark.parametrize(
    "text", ['{"cpu":"many"}', '{"cpu":-1}', '{"cpu":[]}', '{"cpu":true}', '{"cpu":1e30}']
)
def test_amounts_that_cannot_be_read_count_as_absent(text: str):
    found = node_annotations(["n"], [{RAW_ALLOCATABLE: text}])
    assert found.allocatable == {}
    assert len(found.notes) == 1


def test_pods_may_say_how_they_are_estimated():
    row = ShapeRow(annotations={FACTORS: '{"cpu":80}', AFTER_SCHEDULED: "90", AFTER_INITIALIZED: "0"})
    found = pod_annotations(row)
    assert (found.factors, found.after_scheduled, found.after_initialized) == ({"cpu": 80}, 90, 0)
    assert found.notes == ()


@pytest.mark.parametrize("seconds", ["-1", "1.5", "", "soon", "٣", "1" * 30])
def test_seconds_that_cannot_be_read_fall_back_to_the_configuration(seconds: str):
    found = pod_annotations(ShapeRow("ns", annotations={AFTER_SCHEDULED: seconds, FACTORS: "[]"}))
    assert (found.factors, found.after_scheduled) == ({}, None)
    assert len(found.notes) == 2
    assert all(note.startswith("load_threshold: pods in namespace ns: annotation ") for note in found.notes)


@pytest.mark.parametrize(
    ("duration", "instead"), [("", "the last figures"), ("5m", "estimates alone"), ("0s", "the last figures")]
)
def test_an_unknown_type_of_aggregation_has_no_figures_and_is_noted(duration: str, instead: str):
    aggregated = {"usageThresholds": {"cpu": 60}, "usageAggregationType": "p42"}
    if duration:
        aggregated["usageAggregatedDuration"] = duration
    text = json.dumps({"usageThresholds": {"cpu": 70}, "aggregatedUsage": aggregated})
    found = node_annotations(["n0"], [{THRESHOLDS: text}])
    assert found.thresholds[0].aggregated == {"cpu": 60}
    (note,) = found.notes
    assert note.startswith(f"load_threshold: node n0: annotation {THRESHOLDS}: usageAggregationType 'p42' is")
    assert note.endswith(f"; {instead} are held against its thresholds")


@pytest.mark.parametrize("part", ["usageThresholds", "prodUsageThresholds"])
@pytest.mark.parametrize("percent", [101, 400, -1])
def test_percentages_that_cannot_be_meant_count_and_are_noted(part: str, percent: int):
    found = node_annotations(["n0"], [{THRESHOLDS: json.dumps({part: {"cpu": percent, "memory": 100}})}])
    assert {**found.thresholds[0].usage, **found.thresholds[0].prod} == {"cpu": percent, "memory": 100}
    (note,) = found.notes
    assert (
        f"node n0: annotation {THRESHOLDS}: {part}.cpu is {percent}, not from 0 to 100 percent; above" in note
    )


@pytest.mark.parametrize("percent", [0, 101, -5])
def test_factors_that_cannot_be_meant_count_and_are_noted(percent: int):
    found = pod_annotations(ShapeRow(annotations={FACTORS: json.dumps({"cpu": percent, "memory": 1})}))
    assert found.factors == {"cpu": percent, "memory": 1}
    (note,) = found.notes
    assert f"pods: annotation {FACTORS}: cpu is {percent}, not from 1 to 100 percent; it counts" in note


# --- through the core ------------------------------------------------------------------------------------------------


def score(
    node: dict[str, str], pod: dict[str, str], **args: Any
) -> tuple[bool, float | None, tuple[str, ...]]:
    """Verdict and score of a machine with 10 cores, 2 of them used, for a task of 1 core; and the round's notes."""
    core = scheduler(
        [
            MachineUpserted(Machine("n", {"cpu": 10_000, "memory": GIB, "pods": 9}, annotations=node)),
            MachineSampled("n", NOW - 1, {"cpu": 2_000.0}),
            ClassDefined(1, TaskClass(requests=(("cpu", 1_000),), annotations=tuple(pod.items()))),
            TasksSubmitted(1, ("t",)),
        ],
        policy="void",
        overlays=[overlay(resourceWeights={"cpu": 1}, **args)],
        clock=Clock(NOW),
    )
    verdict, _ = verdicts(core, "t")["n"]
    return verdict.feasible, verdict.score, core.run_round().notes


def test_a_node_s_own_figures_go_before_the_configuration_s():
    assert score({}, {}) == (True, 71.0, ())
    assert score({THRESHOLDS: '{"usageThresholds":{"cpu":28}}'}, {}) == (False, 71.0, ())
    assert score({RAW_ALLOCATABLE: '{"cpu":"4"}'}, {}) == (False, 28.0, ())


def test_pods_annotations_count_only_if_allowed():
    annotation = {FACTORS: '{"cpu":50}'}
    assert score({}, annotation) == (True, 71.0, ())
    assert score({}, annotation, allowCustomizeEstimation=True) == (True, 75.0, ())


def test_pods_that_stand_for_a_reservation_use_nothing():
    def scored(annotations: dict[str, str]) -> float | None:
        content = TaskClass(requests=(("cpu", 2_000),), annotations=tuple(annotations.items()))
        core = scheduler(
            [
                MachineUpserted(Machine("n", {"cpu": 10_000, "memory": GIB, "pods": 9})),
                ClassDefined(1, content),
                TasksBound("n", 1, ("there",), assigned=(NOW - 5,), initialized=(0.0,)),
                MachineSampled("n", NOW - 1, {"cpu": 1_000.0}),
                ClassDefined(2, TaskClass(requests=(("cpu", 1_000),))),
                TasksSubmitted(2, ("t",)),
            ],
            policy="void",
            overlays=[overlay(resourceWeights={"cpu": 1})],
            clock=Clock(NOW),
        )
        return verdicts(core, "t")["n"][0].score

    assert scored({}) == 64.0
    assert scored({RESERVE_POD: "false"}) == 64.0
    assert scored({RESERVE_POD: "true"}) == 81.0


def test_the_notes_reach_the_round_s_result():
    feasible, _, notes = score({THRESHOLDS: "{"}, {})
    assert feasible
    assert notes == (f"load_threshold: node n: annotation {THRESHOLDS}='{{': not JSON; it is ignored",)


@pytest.mark.parametrize(
    ("length", "shown"), [(80, "x" * 80), (81, "x" * 77 + "..."), (999, "x" * 77 + "...")]
)
def test_long_texts_are_cut_in_notes(length: int, shown: str):
    (note,) = pod_annotations(ShapeRow(annotations={FACTORS: "x" * length})).notes
    assert f"annotation {FACTORS}={shown!r}: not JSON; it is ignored" in note
