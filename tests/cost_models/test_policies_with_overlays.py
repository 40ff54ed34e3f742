"""Every installed policy composes with an overlay, whichever part of an answer the overlay uses."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from cost_models.interface import Assessment, JointRows, MachineColumns, ShapeBatch, SparseArcs
from cost_models.registry import available
from firmament.core.configuration import WeightedModel
from tests.support.core import machine, messages, placed, scheduler, task_class, tasks, uids
from tests.support.models import Stated

POLICIES = sorted(name for name, kind in available().items() if kind == "policy")


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
