"""A pod whose rules make no sense says so; every other pod is placed."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.bridge.state import BridgeState
from poseidon.embedding import EmbeddedScheduler, load_configuration
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from tests.poseidon.bridge import objects


def affinity(term: Any, *, kind: str = "podAffinity") -> Any:
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def spread(**changes: Any) -> Any:
    rule = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    return {"topologySpreadConstraints": [rule | changes]}


NEAR = {"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}
BAD = {
    "empty topologyKey": (affinity({"topologyKey": "", "labelSelector": {}}), "topologyKey: empty"),
    "unknown operator": (affinity(NEAR, kind="podAntiAffinity"), "operator: unknown operator 'Near'"),
    "minDomains with ScheduleAnyway": (spread(minDomains=2), "minDomains: only whenUnsatisfiable"),
    "maxSkew 0": (spread(maxSkew=0), "maxSkew: 0 is out of range"),
    "port 70000": (
        {"containers": [{"ports": [{"containerPort": 80, "hostPort": 70000}]}]},
        "hostPort: 70000 is out of range",
    ),
}


def pod(name: str, spec: Any, node: str = "") -> Change[Pod]:
    metadata = {"name": name, "namespace": "shop", "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
    whole = {"schedulerName": "poseidon", "containers": [{}], "nodeName": node, **spec}
    return Change(name, convert_object({"metadata": metadata, "spec": whole}, Pod))


@pytest.mark.parametrize("what", BAD)
def test_the_reason_names_the_field_and_nothing_else_is_held_up(what):
    spec, words = BAD[what]
    state, scheduler = BridgeState(), EmbeddedScheduler(load_configuration(None), lambda: 0.0)
    state.nodes_changed([objects.present(objects.node("n1"))])
    state.pods_changed([pod("bad", spec), pod("good", {}), pod("running", spec, node="n1")])
    scheduler.apply(state.snapshot())
    result = scheduler.run_round()
    assert [(delta.task, delta.machine) for delta in result.deltas] == [("good", "n1")]
    ((tasks, message),) = [(list(group.tasks), group.message) for group in result.unscheduled]
    assert tasks == ["bad"]
    assert words in message
    assert "\n" not in message
    (machine,) = scheduler.machines()
    assert machine.tasks == 2, "what runs already counts, whatever its spec says"
