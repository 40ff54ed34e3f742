"""Every installed policy composes with an overlay, whichever part of an answer the overlay uses."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cost_models.interface import Assessment, CostModel, JointRows, MachineColumns, ShapeBatch, SparseArcs
from cost_models.registry import list_available, load_model
from firmament.core.configuration import WeightedModel
from tests.support.core import machine, messages, placed, scheduler, task_class, tasks, uids
from tests.support.models import Stated

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "02-cost-model" / "node_price.py"
POLICIES = sorted(name for name, kind in list_available().items() if kind == "policy")


def exacting(machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
    """Refuses m0, would rather use m3 than any other, and lets m1 and m2 take three tasks together."""
    feasible = np.ones((shapes.count, machines.count), np.bool_)
    feasible[:, machines.names.index("m0")] = False
    every = np.arange(shapes.count)
    return Assessment(
        raw=np.full((shapes.count, 1), 100.0),
        feasible=feasible,
        reason="node(s) not liked",
        sparse=SparseArcs(every, np.full(shapes.count, machines.names.index("m3")), np.zeros(shapes.count)),
        joint=[
            JointRows(
                row_of=np.array([0 if name in ("m1", "m2") else -1 for name in machines.names]),
                amount=np.ones(shapes.count, dtype=np.int64),
                limit=np.array([3]),
                reason="node(s) had a shared limit",
            )
        ],
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_an_overlay_filters_prefers_and_limits_under_every_policy(policy: str):
    core = scheduler(
        *(machine(f"m{index}", cpu=1_000, pods=4) for index in range(4)),
        tasks(1, *uids("a", 5), content=task_class(cpu=100, labels=(("taskType", "Devil"),))),
        tasks(2, *uids("b", 5), content=task_class(cpu=200)),
        policy=policy,
        # Weighty enough for the preference to win over whatever a policy says.
        overlays=[WeightedModel(Stated(exacting), weight=1_000)],
    )
    result = core.run_round()
    counts = Counter(placed(result).values())
    assert counts["m3"] == 4
    assert counts["m1"] + counts["m2"] == 3
    assert "m0" not in counts
    assert len(messages(result)) == 3


@pytest.mark.parametrize("policy", POLICIES)
def test_what_overlays_and_policy_charge_adds_up(policy: str):
    core = scheduler(
        *(machine(f"m{index}") for index in range(4)),
        tasks(1, "t"),
        policy=policy,
        overlays=[WeightedModel(Stated(exacting), weight=7)],
    )
    for verdict in core.explain("t").machines:
        charged = {model.model: model.cost for model in verdict.models}
        assert set(charged) == {policy, "stated", "kubernetes"}
        assert charged["stated"] == (0.0 if verdict.machine == "m3" else 700.0)
        assert verdict.cost == sum(charged.values())


def overlays() -> dict[str, Callable[[], CostModel]]:
    """Every overlay that is installed, and the example's, by name."""
    made: dict[str, Callable[[], CostModel]] = {
        name: partial(load_model, name, {}) for name, kind in list_available().items() if kind == "overlay"
    }
    spec = importlib.util.spec_from_file_location("example_node_price", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {**made, "node_price": module.NodePrice}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("overlay", sorted(overlays()))
def test_every_policy_works_with_every_overlay(policy: str, overlay: str):
    core = scheduler(
        *(
            machine(f"m{index}", cpu=1_000, labels={"example.com/price": f"0.{index + 1}"})
            for index in range(4)
        ),
        tasks(1, *uids("a", 6), content=task_class(cpu=100)),
        tasks(2, *uids("b", 6), content=task_class(cpu=200)),
        policy=policy,
        overlays=[WeightedModel(overlays()[overlay](), weight=3)],
    )
    assert len(placed(core.run_round())) == 12
    for verdict in core.explain("a-0").machines:
        charged = {model.model: model.cost for model in verdict.models}
        assert set(charged) == {policy, overlay, "kubernetes"}
        assert verdict.cost == sum(charged.values())
