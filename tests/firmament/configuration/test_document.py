"""The solver's part of the configuration: defaults, bounds of each number, faults of models, and what the core gets."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from cost_models.interface import Assessment, BaseModel, MachineColumns, Needs, Promises, Range, ShapeBatch
from firmament.configuration.document import (
    BASE_POLICIES,
    RoundSection,
    SchedulerConfiguration,
    build_core,
    load,
    model_faults,
    parse_time_limit,
)
from firmament.configuration.sections import FairShareSection, LimitSection, ScarceResourceSection
from firmament.core.configuration import RoundOptions, SizeLimits
from firmament.core.rules.default_spread import SYSTEM_DEFAULTS, SpreadConstraint
from protos.configuration.file import ConfigurationError
from protos.configuration.shared_sections import GangSection


def read(**sections: Any) -> SchedulerConfiguration:
    return SchedulerConfiguration.part_of(
        {"apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration", **sections}
    )


# --- rounds ----------------------------------------------------------------------------------------------------------


def test_defaults_of_rounds():
    found = RoundSection()
    assert found.model_dump() == {
        "batching_window": 0.02,
        "solve_time_limit": 10.0,
        "max_passes": 8,
        "seed": 0,
        "reserve_after_rounds": 8,
        "reserve_for_rounds": 256,
        "reserve_after": 60.0,
        "reserve_for": 300.0,
        "first_backoff": 1.0,
        "last_backoff": 60.0,
        "refresh_reasons_after": 60.0,
    }


def test_options_of_rounds_are_those_of_both_sections():
    section = RoundSection(
        solve_time_limit=1.0,
        max_passes=2,
        seed=3,
        reserve_after_rounds=4,
        reserve_for_rounds=5,
        reserve_after=6.0,
        reserve_for=7.0,
        first_backoff=8.0,
        last_backoff=9.0,
        refresh_reasons_after=10.0,
    )
    found = section.options(GangSection(timeout=11.0, evict_failed=False))
    assert (found.passes.solve_time_limit, found.passes.max_passes) == (1.0, 2)
    assert found == RoundOptions(
        passes=found.passes,
        seed=3,
        reserve_after_rounds=4,
        reserve_for_rounds=5,
        reserve_after=6.0,
        reserve_for=7.0,
        first_backoff=8.0,
        last_backoff=9.0,
        gang_seconds=11.0,
        evict_failed_gangs=False,
        refresh_seconds=10.0,
    )


@pytest.mark.parametrize(
    ("value", "expected"), [(None, None), (0.1, 0.1), ("1h", 3600.0), ("20ms", 0.02), (3600, 3600.0)]
)
def test_time_limits(value: object, expected: float | None):
    assert parse_time_limit(value) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("value", [0, -1, 3600.5, "61m", math.inf, "soon", True])
def test_what_is_no_time_limit(value: object):
    with pytest.raises(ValueError, match=r"more than 0 s and at most 1h|is not a duration"):
        parse_time_limit(value)


BOUNDS: tuple[tuple[str, str, float, float], ...] = (
    ("round", "maxPasses", 1, 100),
    ("round", "seed", 0, 2**63 - 1),
    ("round", "reserveAfterRounds", 1, 1_000_000),
    ("round", "reserveForRounds", 1, 1_000_000),
    ("scarceResources", "points", 0, 100),
    ("limits", "streams", 1, 10_000),
    ("limits", "clusters", 1, 10_000),
    ("limits", "questions", 1, 10_000),
    ("limits", "messageBytes", 2**20, 2**30),
    ("limits", "tasks", 1, 100_000_000),
    ("limits", "machines", 1, 100_000_000),
    ("limits", "classes", 1, 100_000_000),
    ("limits", "records", 1, 100_000_000),
    ("limits", "recordBytes", 1024, 2**30),
)


@pytest.mark.parametrize(("section", "field", "least", "most"), BOUNDS, ids=str)
def test_numbers_have_bounds(section: str, field: str, least: float, most: float):
    for fine in (least, most):
        read(**{section: {field: fine}})
    wrong: tuple[object, ...] = (least - 1, most + 1, str(least), True)
    for value in wrong:
        with pytest.raises(ValidationError):
            read(**{section: {field: value}})


@pytest.mark.parametrize("field", ["reserveFor", "firstBackoff", "refreshReasonsAfter"])
def test_durations_that_must_not_be_nothing(field: str):
    read(round={field: "1ms"})
    with pytest.raises(ValidationError):
        read(round={field: 0})


def test_durations_that_may_be_nothing():
    found = read(round={"batchingWindow": 0, "reserveAfter": 0}).round
    assert (found.batching_window, found.reserve_after) == (0.0, 0.0)


def test_the_first_pause_is_not_longer_than_the_last():
    assert read(round={"firstBackoff": 60, "lastBackoff": 60}).round.first_backoff == 60.0
    with pytest.raises(ValidationError, match=r"firstBackoff \(61 s\) is longer than lastBackoff \(60 s\)"):
        read(round={"firstBackoff": 61})


# --- sections that stand by themselves -------------------------------------------------------------------------------


def test_defaults_of_limits():
    found = LimitSection()
    assert found.model_dump() == {
        "hello_timeout": 10.0,
        "streams": 32,
        "clusters": 32,
        "questions": 16,
        "message_bytes": 32 * 2**20,
        "tasks": 2_000_000,
        "machines": 200_000,
        "classes": 500_000,
        "records": 500_000,
        "record_bytes": 2**20,
    }
    given = LimitSection(tasks=1, machines=2, classes=3, records=4, record_bytes=2000)
    assert given.limit_clusters() == SizeLimits(1, 2, 3, 4, 2000)


def test_fair_shares_are_off_unless_they_are_enabled():
    assert FairShareSection(weights={"a": 2.0}).share() is None
    share = FairShareSection(enabled=True, weights={"a": 2.0}, default_weight=3.0).share()
    assert share is not None
    assert (share.weight("a"), share.weight("b")) == (2.0, 3.0)


@pytest.mark.parametrize("weight", [0, -1, 1_000_001, math.inf, "2"])
def test_weights_of_namespaces_have_bounds(weight: object):
    read(fairShare={"weights": {"a": 0.001, "b": 1_000_000}})
    with pytest.raises(ValidationError):
        read(fairShare={"weights": {"a": weight}})
    with pytest.raises(ValidationError):
        read(fairShare={"defaultWeight": weight})


def test_scarce_resources_cost_points_or_nothing():
    assert ScarceResourceSection().points == 15
    assert ScarceResourceSection(points=0).model() is None
    assert ScarceResourceSection(points=1).model() is not None


# --- what the core gets ----------------------------------------------------------------------------------------------


def test_without_a_file_the_core_has_its_defaults():
    core = build_core(load(None))
    assert (core.policy.model.name, core.policy.weight, core.overlays) == ("cpu_mem", 1, ())
    assert core.spread == SYSTEM_DEFAULTS
    assert core.scarce is not None
    assert core.fair_share is None
    assert core.profiles == {}
    assert not core.options.by_quality


def test_models_weights_and_profiles_reach_the_core():
    core = build_core(
        read(
            policy={"name": "trivial", "weight": 2},
            costModels=[{"name": "network_overhead", "weight": 3}],
            profiles=[
                {"schedulerName": "a", "policy": {"name": "void"}},
                {"schedulerName": "b", "costModels": []},
            ],
            podTopologySpread={
                "defaultingType": "List",
                "defaultConstraints": [
                    {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}
                ],
            },
        )
    )
    assert [(each.model.name, each.weight) for each in core.models[:2]] == [
        ("trivial", 2),
        ("network_overhead", 3),
    ]
    assert core.spread == (SpreadConstraint("rack", 2),)
    assert core.options.by_quality
    first, second = core.profiles["a"], core.profiles["b"]
    assert [each.model.name for each in (first.policy, *first.overlays)] == ["void", "network_overhead"]
    assert [each.model.name for each in (second.policy, *second.overlays)] == ["trivial"]
    assert first.options.by_quality
    assert not second.options.by_quality


@pytest.mark.parametrize(("sort", "expected"), [("topological", True), ("priority", False)])
def test_quality_counts_with_pairs_unless_the_queue_is_sorted_by_priority(sort: str, expected: bool):
    core = build_core(read(queueSort=sort, costModels=[{"name": "network_overhead"}]))
    assert core.options.by_quality is expected
    assert not build_core(read(queueSort=sort)).options.by_quality


# --- faults of models ------------------------------------------------------------------------------------------------


class Brought(BaseModel):
    name = "brought"
    kind = "overlay"
    range = Range(best=0.0, worst=1.0)

    def __init__(self, size: int = 1) -> None:
        self.size = size

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        return Assessment(raw=np.zeros((shapes.count, machines.count)))


class Restricting(Brought):
    needs = Needs(kind_labels=("team",))
    promises = Promises(constraints=True)

    def constraint(self, *_: object) -> None:
        return None

    @staticmethod
    def restore_constraint(*_: object) -> None:
        return None


CLASSES = {"brought": Brought, "restricting": Restricting, "broken": object}


def faults(**document: Any) -> list[str]:
    return list(model_faults(document, CLASSES))


def test_models_without_faults():
    assert faults() == []
    assert faults(policy={"name": "trivial"}, costModels=[{"name": "brought", "args": {"size": 2}}]) == []
    assert faults(policy="trivial", costModels="brought", profiles={"a": 1}) == []
    assert faults(policy={"name": 3}, costModels=[5, {"name": ["x"]}], profiles=[7]) == []


def test_each_fault_names_its_field_and_what_to_do():
    assert faults(policy={"name": "brought"}, costModels=[{"name": "void"}]) == [
        "policy.name: brought is not a base policy; move it to costModels",
        "costModels[0].name: void is not an overlay; move it to policy",
    ]
    (unknown,) = faults(policy={"name": "nonsense"})
    assert unknown.startswith("policy.name: 'nonsense' is not a known model; use one of: coco, ")
    assert all(name in unknown for name in BASE_POLICIES)
    (unknown,) = faults(costModels=[{"name": "nonsense"}])
    assert "brought" in unknown.partition("use one of: ")[2]
    assert "void" not in unknown


def test_arguments_and_declarations_are_checked():
    (wrong,) = faults(costModels=[{"name": "brought", "args": {"colour": 1}}])
    assert wrong.startswith("costModels[0].args: brought: ")
    assert faults(costModels=[{"name": "brought", "args": {1: 2}}]) == []
    (broken,) = faults(costModels=[{"name": "broken"}])
    assert broken == "costModels[0].name: broken: kind is None; it must be 'policy' or 'overlay'"


def test_a_model_is_given_once():
    assert faults(costModels=[{"name": "brought"}, {"name": "brought"}]) == [
        "costModels[1].name: brought is already given as costModels[0]; remove one of them"
    ]


def test_faults_of_profiles():
    found = faults(
        profiles=[
            {"schedulerName": "a", "policy": {"name": "brought"}},
            {"schedulerName": "a", "costModels": [{"name": "restricting"}, {"name": "brought"}]},
            {"costModels": [{"name": "unknown"}]},
        ]
    )
    assert found[0] == "profiles[0].policy.name: brought is not a base policy; move it to costModels"
    assert found[1] == (
        "profiles[1].costModels[0].name: restricting has constraints between pods, which hold for pods of all "
        "profiles; move it to costModels"
    )
    assert found[2] == "profiles[1].schedulerName: a is already that of profiles[0]; remove one of them"
    assert found[3].startswith("profiles[2].costModels[0].name: 'unknown' is not a known model")
    assert len(found) == 4


def test_models_that_a_program_brings_are_used():
    configuration = read(costModels=[])
    configuration.bring_classes({"brought": Brought})
    assert configuration.classes == {"brought": Brought}
    with pytest.raises(ConfigurationError, match=r"configuration: costModels\[0\]\.name: 'brought'"):
        build_core(read(costModels=[{"name": "brought"}]))
    with_model = read(costModels=[{"name": "brought", "args": {"size": 5}}])
    with_model.bring_classes({"brought": Brought})
    core = build_core(with_model)
    assert isinstance(core.overlays[0].model, Brought)
    assert core.overlays[0].model.size == 5


def test_a_file_is_read(tmp_path: Path):
    file = tmp_path / "c.yaml"
    file.write_text(
        "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\npolicy: {name: octopus}\n",
        encoding="utf-8",
    )
    assert load(file).policy.name == "octopus"
    file.write_text(
        "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\npolicy: {name: x}\n",
        encoding="utf-8",
    )
    with pytest.raises(ConfigurationError, match=r"c\.yaml: policy\.name: 'x' is not a known model"):
        load(file)
