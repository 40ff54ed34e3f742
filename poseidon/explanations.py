"""Explains a pod: says for every node whether the pod may run there, why not, and what each model would charge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from protos.conventions.number_formats import format_feasible
from protos.firmament.v1 import scheduler_pb2 as pb


class UnknownPodError(LookupError):
    """The error for a pod that is not in the input or has ended; the message says which of these is the case."""


@dataclass(frozen=True, slots=True)
class Charge:
    """A model's charge for a node: raw figure, score (0 to 100, None without one), points, and lines of text."""

    feasible: bool
    raw: float
    score: float | None
    cost: float
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a node for a pod: whether it is feasible, why not (root cause first), and what models charge."""

    feasible: bool
    reasons: tuple[str, ...]
    cost: float
    models: Mapping[str, Charge]
    lacks_only_room: bool = False
    """Whether the node refuses the pod only for lack of resources, so that fewer other pods on it would help."""


class PodOutcome(StrEnum):
    """The outcome for a pod: it runs, a round places it at once or after its victims have ended, or it waits."""

    RUNS = "running"
    PLACED = "placed"
    PREEMPTS = "waits-for-victims"
    WAITS = "pending"


@dataclass(frozen=True, slots=True)
class PodDecision:
    """The outcome for a pod if the solver ran a round now.

    ``node``: the node on which the pod runs or that the round gives to it, "" for none. ``after``: the pods that have
    to end or to be bound first. ``reason``: why the pod waits. ``group``: the state of the pod's group, None if it has
    none.
    """

    outcome: PodOutcome
    node: str = ""
    after: tuple[str, ...] = ()
    reason: str = ""
    group: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Margin:
    """The difference in cost between a pod's node and the cheapest other feasible node.

    ``than``: the other node, which costs ``by`` points more than the pod's node (negative: less).
    """

    than: str
    by: float


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change that would give a waiting pod a node: a line of text, commands to copy, and JSON."""

    text: str
    commands: tuple[str, ...]
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PodExplanation:
    """The explanation of a pod: verdicts on all nodes, the outcome for the pod, and changes that would help."""

    pod: str
    """The name of the pod, ``namespace/name``."""
    node: str
    """The node on which the pod runs, "" for none."""
    nodes: Mapping[str, Verdict]
    """The verdicts by node, in order of the nodes' names."""
    warnings: tuple[str, ...]
    """Lines of text about faults of the input."""
    outlook: tuple[str, ...] = ()
    """Lines of text that say what else a round does with the pod, why it waits, and the state of its group."""
    decision: PodDecision | None = None
    """The outcome for the pod if the solver ran a round now, None if unknown."""
    cures: tuple[Remedy, ...] = ()
    """The changes that would give the pod a node."""

    @property
    def chosen(self) -> str:
        """The node on which the pod runs or that it would get, "" for none."""
        return self.node if self.decision is None else self.decision.node

    def margin(self) -> Margin | None:
        """Return by how much the pod's node is cheaper than the next node; None if one of the two does not exist."""
        own = self.nodes.get(self.chosen)
        others = [
            (each.cost, name) for name, each in self.nodes.items() if each.feasible and name != self.chosen
        ]
        if own is None or not others:
            return None
        cost, name = min(others)
        return Margin(name, cost - own.cost)

    def as_json(self) -> dict[str, Any]:
        """Return the explanation as the JSON object that the documentation describes."""
        decision, margin = self.decision or _unknown(self.node), self.margin()
        return {
            "pod": self.pod,
            "nodes": {name: _verdict(each) for name, each in self.nodes.items()},
            "outcome": decision.outcome.value,
            "node": self.chosen or None,
            "after": list(decision.after),
            "reason": decision.reason,
            "better": None if margin is None else {"than": margin.than, "by": plain(margin.by)},
            "group": decision.group,
            "cures": [each.data for each in self.cures],
            "notes": list(self.outlook),
        }


def _unknown(node: str) -> PodDecision:
    return PodDecision(PodOutcome.RUNS if node else PodOutcome.WAITS, node)


def describe_outcome(explanation: PodExplanation) -> tuple[str, ...]:
    """Return sentences that say what happens to a pod, and how many nodes are feasible."""
    feasible, total = sum(each.feasible for each in explanation.nodes.values()), len(explanation.nodes)
    counted = format_feasible(feasible, total, "node")
    name, decision = explanation.pod, explanation.decision
    if decision is None:
        where = f"runs on {explanation.node}" if explanation.node else "waits for a node"
        return (f"Pod {name} {where}; {counted}.",)
    match decision.outcome:
        case PodOutcome.RUNS:
            first = f"Pod {name} runs on {decision.node}{_charge(explanation)}."
        case PodOutcome.PLACED:
            first = f"A round now gives pod {name} node {decision.node}{_charge(explanation)}."
        case PodOutcome.PREEMPTS:
            first = (
                f"A round now gives pod {name} node {decision.node} once {phrase_conditions(decision.after)} gone"
                f"{_charge(explanation)}."
            )
        case _:
            first = f"Pod {name} goes on waiting: {decision.reason.rstrip('.')}."
    return first, f"{counted} once the round is done."


def phrase_conditions(pods: Iterable[str]) -> str:
    """Return the names of pods and a verb: ``a, b are``."""
    named = list(pods)
    return f"{', '.join(named)} {'is' if len(named) == 1 else 'are'}"


def _charge(explanation: PodExplanation) -> str:
    """Return a phrase with the cost of the pod's node and the difference to the next node."""
    own = explanation.nodes.get(explanation.chosen)
    if own is None or not own.feasible:
        return ""
    cost = f", at cost {plain(own.cost)}"
    margin = explanation.margin()
    if margin is None:
        return f"{cost}; no other node is feasible"
    by = plain(margin.by)
    if by == 0:
        return f"{cost}, the same as {margin.than}"
    if by > 0:
        return f"{cost}, {by} less than the next, {margin.than}"
    return f"{cost}; {margin.than} would cost it {plain(-margin.by)} less, but a round looks at all pods together"


def read_verdicts(explanation: pb.Explanation) -> dict[str, Verdict]:
    """Return the verdicts of a solver's explanation, by name of the node."""
    return {
        each.machine: Verdict(
            feasible=each.feasible,
            reasons=tuple(each.reasons),
            cost=each.cost,
            models={
                model.model: Charge(
                    feasible=model.feasible,
                    raw=model.raw,
                    score=model.score if model.HasField("score") else None,
                    cost=model.cost,
                    details=tuple(model.details),
                )
                for model in each.models
            },
            lacks_only_room=each.lacks_only_room,
        )
        for each in explanation.machines
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "feasible": verdict.feasible,
        "reasons": list(verdict.reasons),
        "cost": plain(verdict.cost),
        "models": {
            name: {
                "feasible": charge.feasible,
                "raw": plain(charge.raw),
                "score": None if charge.score is None else plain(charge.score),
                "cost": plain(charge.cost),
                **({"details": list(charge.details)} if charge.details else {}),
            }
            for name, charge in verdict.models.items()
        },
    }


def plain(figure: float) -> float:
    """Return a whole figure as an integer, another figure rounded to six decimals."""
    rounded = round(figure, 6)
    return int(rounded) if rounded.is_integer() else rounded
