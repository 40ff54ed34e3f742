"""What a shadow makes of pods that others bind: whom it looks at, and how it adds up what was found."""

from __future__ import annotations

import pytest

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pods import Pod, PodSpec
from poseidon.kube.api.resource import Change
from poseidon.live.shadow import Observation, Report, Shadow, sum_savings_by_model


def observed(
    pod: str, cost: float, best_cost: float, *reasons: str, best: str = "n2", **models
) -> Observation:
    return Observation(pod, "n1", best, cost, best_cost, models, reasons)


@pytest.mark.parametrize(
    ("found", "saving"),
    [
        (observed("p", 9.0, 4.0), 5.0),
        (observed("p", 4.0, 4.0), 0.0),
        (observed("p", 3.0, 4.0), 0.0),
        (observed("p", 9.0, 4.0, "taint"), 0.0),
        (observed("p", 9.0, 4.0, best=""), 0.0),
    ],
)
def test_a_saving_is_what_another_node_costs_less(found, saving):
    assert found.saving == saving


def test_a_report_adds_up_what_was_found():
    report = Report(
        bound=7,
        unknown=2,
        observed=[
            observed("b", 5.0, 4.0, load=(3.0, 1.0), price=(2.0, 3.0)),
            observed("a", 5.0, 4.0, load=(1.0, 0.0)),
            observed("most", 9.0, 1.0),
            observed("same", 4.0, 4.0 - 1e-7, load=(9.0, 1.0)),
            observed("against", 9.0, 1.0, "taint", "label", load=(9.0, 1.0)),
        ],
    )
    found = report.as_json()
    assert {key: found[key] for key in found if key != "pods"} == {
        "bound": 7,
        "asked": 5,
        "unknown": 2,
        "asGood": 1,
        "cheaperElsewhere": 3,
        "wouldNotHaveBeenPlacedThere": 1,
        "saving": 10.0,
        "savingByModel": {"load": 3.0, "price": -1.0},
    }
    assert [each["pod"] for each in found["pods"]] == ["most", "a", "b", "same", "against"]
    assert found["pods"][-1] == {
        "pod": "against",
        "node": "n1",
        "cheapest": "n2",
        "cost": 9.0,
        "cheapestCost": 1.0,
        "saving": 0.0,
        "reasons": ["taint", "label"],
    }
    assert sum_savings_by_model([]) == {}


def change(name: str, node: str = "", scheduler: str = "theirs") -> Change[Pod]:
    metadata = ObjectMeta(name=name, namespace="shop", uid=name)
    return Change(name, Pod(metadata=metadata, spec=PodSpec(node_name=node, scheduler_name=scheduler)))


def test_pods_count_when_they_get_a_node_after_they_were_seen_without():
    shadow = Shadow(["unused:1"], "c", frozenset({"theirs"}), 2.0)
    shadow.take_changes([change("a"), change("ours", scheduler="poseidon"), change("ran", "n1")])
    assert shadow.report.bound == 0
    shadow.take_changes([change("a", "n1"), change("ours", "n1", scheduler="poseidon"), change("ran", "n2")])
    assert shadow.report.bound == 1
    shadow.take_changes([change("a", "n1"), change("b"), Change("b", None), change("b", "n1")])
    assert shadow.report.bound == 1
    shadow.take_changes([change("c"), change("c", "n1")])
    assert shadow.report.bound == 2
