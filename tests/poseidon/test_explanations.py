"""Explanations in sentences and as JSON: what a pod's node costs, and by how much others differ."""

from __future__ import annotations

import pytest

from poseidon.explanations import (
    Charge,
    Margin,
    PodDecision,
    PodExplanation,
    PodOutcome,
    Remedy,
    Verdict,
    describe_outcome,
    phrase_conditions,
    plain,
    read_verdicts,
)
from protos.firmament.v1 import scheduler_pb2 as pb


def explain(costs: dict[str, float | None], node: str = "", **more) -> PodExplanation:
    """An explanation with nodes of these costs; None: not feasible."""
    nodes = {
        name: Verdict(
            cost is not None, () if cost is not None else ("Insufficient cpu",), float(cost or 0), {}
        )
        for name, cost in costs.items()
    }
    return PodExplanation("shop/web", node, nodes, (), **more)


@pytest.mark.parametrize(
    ("costs", "node", "margin"),
    [
        ({"a": 5, "b": 7, "c": 9}, "a", Margin("b", 2)),
        ({"a": 5, "b": 3, "c": 4}, "a", Margin("b", -2)),
        ({"a": 5, "b": None, "c": 6}, "a", Margin("c", 1)),
        ({"a": 5, "c": 6, "b": 6}, "a", Margin("b", 1)),
        ({"a": 5, "b": None}, "a", None),
        ({"a": 5, "b": 6}, "", None),
        ({"a": 5, "b": 6}, "z", None),
        ({}, "", None),
    ],
)
def test_the_margin_is_to_the_cheapest_other_feasible_node(costs, node, margin):
    assert explain(costs, node).margin() == margin


def test_the_node_of_a_round_counts_before_the_one_it_runs_on():
    explanation = explain({"a": 5, "b": 7}, "a", decision=PodDecision(PodOutcome.PLACED, "b"))
    assert explanation.chosen == "b"
    assert explanation.margin() == Margin("a", -2)
    assert explain({}, "a").chosen == "a"


@pytest.mark.parametrize(
    ("costs", "decision", "said"),
    [
        (
            {"a": 5, "b": 7.5, "c": None},
            PodDecision(PodOutcome.RUNS, "a"),
            "Pod shop/web runs on a, at cost 5, 2.5 less than the next, b.",
        ),
        (
            {"a": 5, "b": 5},
            PodDecision(PodOutcome.PLACED, "a"),
            "A round now gives pod shop/web node a, at cost 5, the same as b.",
        ),
        (
            {"a": 5, "b": 3},
            PodDecision(PodOutcome.PLACED, "a"),
            (
                "A round now gives pod shop/web node a, at cost 5; b would cost it 2 less, but a round looks at all "
                "pods together."
            ),
        ),
        (
            {"a": 5, "b": None},
            PodDecision(PodOutcome.PREEMPTS, "a", after=("x/y",)),
            "A round now gives pod shop/web node a once x/y is gone, at cost 5; no other node is feasible.",
        ),
        (
            {"a": None},
            PodDecision(PodOutcome.RUNS, "a"),
            "Pod shop/web runs on a.",
        ),
        (
            {"a": 5},
            PodDecision(PodOutcome.WAITS, reason="no room."),
            "Pod shop/web goes on waiting: no room.",
        ),
    ],
)
def test_a_sentence_says_what_a_round_does_and_what_that_costs(costs, decision, said):
    first, second = describe_outcome(explain(costs, decision=decision))
    assert first == said
    assert second.endswith("once the round is done.")


@pytest.mark.parametrize(("node", "said"), [("a", "runs on a"), ("", "waits for a node")])
def test_without_a_round_the_node_that_it_runs_on_is_said(node, said):
    [sentence] = describe_outcome(explain({"a": 5, "b": None}, node))
    assert sentence.startswith(f"Pod shop/web {said}; ")
    assert "1 of 2" in sentence


@pytest.mark.parametrize(("pods", "said"), [(["a"], "a is"), (["a", "b"], "a, b are"), ([], " are")])
def test_the_verb_agrees_with_the_number_of_pods(pods, said):
    assert phrase_conditions(iter(pods)) == said


@pytest.mark.parametrize(
    ("figure", "shown"), [(5.0, 5), (0.1 + 0.2, 0.3), (1.23456789, 1.234568), (-2.0, -2), (1e-9, 0)]
)
def test_figures_are_rounded_to_six_decimals(figure, shown):
    assert plain(figure) == shown
    assert isinstance(plain(figure), type(shown))


def test_json_has_all_that_is_known():
    charge = Charge(True, 0.5, None, 2.0)
    explanation = PodExplanation(
        "shop/web",
        "",
        {
            "a": Verdict(True, (), 2.0, {"m": charge}),
            "b": Verdict(False, ("taint",), 4.5, {"m": Charge(False, 1.0, 50.0, 3.0, ("x",))}),
        },
        (),
        ("a note",),
        PodDecision(PodOutcome.PREEMPTS, "a", ("x/y",), "why", {"state": "whole"}),
        (Remedy("text", ("kubectl",), {"kind": "label"}),),
    )
    assert explanation.as_json() == {
        "pod": "shop/web",
        "nodes": {
            "a": {
                "feasible": True,
                "reasons": [],
                "cost": 2,
                "models": {"m": {"feasible": True, "raw": 0.5, "score": None, "cost": 2}},
            },
            "b": {
                "feasible": False,
                "reasons": ["taint"],
                "cost": 4.5,
                "models": {"m": {"feasible": False, "raw": 1, "score": 50, "cost": 3, "details": ["x"]}},
            },
        },
        "outcome": "waits-for-victims",
        "node": "a",
        "after": ["x/y"],
        "reason": "why",
        "better": None,
        "group": {"state": "whole"},
        "cures": [{"kind": "label"}],
        "notes": ["a note"],
    }


@pytest.mark.parametrize(("node", "outcome"), [("a", "running"), ("", "pending")])
def test_json_without_a_round_says_whether_it_runs(node, outcome):
    found = explain({"a": 5, "b": 6}, node).as_json()
    assert (found["outcome"], found["node"]) == (outcome, node or None)
    assert found["better"] == ({"than": "b", "by": 1} if node else None)


def test_verdicts_of_a_solver_are_read_field_by_field():
    message = pb.Explanation(
        machines=[
            pb.MachineVerdict(
                machine="a",
                feasible=True,
                reasons=["r"],
                cost=2.5,
                lacks_only_room=True,
                models=[
                    pb.ModelVerdict(model="m", feasible=True, raw=1.5, score=0.0, cost=2.0, details=["d"]),
                    pb.ModelVerdict(model="n", feasible=False, raw=3.0, cost=0.5),
                ],
            ),
            pb.MachineVerdict(machine="b"),
        ]
    )
    assert read_verdicts(message) == {
        "a": Verdict(
            True,
            ("r",),
            2.5,
            {"m": Charge(True, 1.5, 0.0, 2.0, ("d",)), "n": Charge(False, 3.0, None, 0.5)},
            lacks_only_room=True,
        ),
        "b": Verdict(False, (), 0.0, {}),
    }
