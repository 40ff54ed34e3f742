"""Explanations of a pod: for every node, whether the pod may run there, why not, and what each model would charge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from protos.conventions.command_line import format_feasible
from protos.firmament.v1 import scheduler_pb2 as pb


class UnknownPodError(LookupError):
    """The pod cannot be explained: it is not in the input, or has ended. The message says which."""


@dataclass(frozen=True, slots=True)
class Charge:
    """A model's charge for a node: raw figure, score (0 to 100, None without one), points charged, and
    lines for people.
    """

    feasible: bool
    raw: float
    score: float | None
    cost: float
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a pod may use a node, why not (the root cause first), and what every model charges."""

    feasible: bool
    reasons: tuple[str, ...]
    cost: float
    models: Mapping[str, Charge]
    lacks_only_room: bool = False
    """The node refuses the pod only for lack of resources, so fewer pods on it would help."""


class PodOutcome(StrEnum):
    """The outcome for a pod: it runs, a round places it, a round places it once victims are gone, or it waits."""

    RUNS = "running"
    PLACED = "placed"
    PREEMPTS = "waits-for-victims"
    WAITS = "pending"


@dataclass(frozen=True, slots=True)
class PodStanding:
    """The outcome of a round now for a pod.

    ``node``: the node on which the pod runs or that the round gives it, "" for none; ``after``: pods that have to be
    gone or bound first; ``reason``: why the pod waits; ``group``: the state of its group, None if it has none.
    """

    outcome: PodOutcome
    node: str = ""
    after: tuple[str, ...] = ()
    reason: str = ""
    group: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Margin:
    """By how much the pod's node is cheaper than the next: ``than``, the cheapest other feasible node, costs ``by``
    points more (negative: less).
    """

    than: str
    by: float


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change that would give a waiting pod a node: a line for people, commands to copy, and JSON."""

    text: str
    commands: tuple[str, ...]
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PodExplanation:
    """The explanation of a pod."""

    pod: str
    """Name of the pod, ``namespace/name``."""
    node: str
    """The node that it runs on, "" if none."""
    nodes: Mapping[str, Verdict]
    """Verdicts by node, in order of names."""
    warnings: tuple[str, ...]
    """Lines for people about the input."""
    outlook: tuple[str, ...] = ()
    """Lines for people on what else a round does with the pod, why it waits, and the state of its group."""
    standing: PodStanding | None = None
    """The outcome of a round now for the pod, None if unknown."""
    cures: tuple[Remedy, ...] = ()
    """Changes that would give the pod a node."""

    @property
    def chosen(self) -> str:
        """The node that the pod is on or gets, "" for none."""
        return self.node if self.standing is None else self.standing.node

    def margin(self) -> Margin | None:
        """Return by how much the pod's node is cheaper than the next; None without a node, or without another node."""
        own = self.nodes.get(self.chosen)
        others = [
            (each.cost, name) for name, each in self.nodes.items() if each.feasible and name != self.chosen
        ]
        if own is None or not others:
            return None
        cost, name = min(others)
        return Margin(name, cost - own.cost)

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        standing, margin = self.standing or _unknown(self.node), self.margin()
        return {
            "pod": self.pod,
            "nodes": {name: _verdict(each) for name, each in self.nodes.items()},
            "outcome": standing.outcome.value,
            "node": self.chosen or None,
            "after": list(standing.after),
            "reason": standing.reason,
            "better": None if margin is None else {"than": margin.than, "by": plain(margin.by)},
            "group": standing.group,
            "cures": [each.data for each in self.cures],
            "notes": list(self.outlook),
        }


def _unknown(node: str) -> PodStanding:
    return PodStanding(PodOutcome.RUNS if node else PodOutcome.WAITS, node)


def describe_outcome(explanation: PodExplanation) -> tuple[str, ...]:
    """Return sentences that say what happens to a pod, and how many nodes are feasible."""
    feasible, total = sum(each.feasible for each in explanation.nodes.values()), len(explanation.nodes)
    counted = format_feasible(feasible, total, "node")
    name, standing = explanation.pod, explanation.standing
    if standing is None:
        where = f"runs on {explanation.node}" if explanation.node else "waits for a node"
        return (f"Pod {name} {where}; {counted}.",)
    match standing.outcome:
        case PodOutcome.RUNS:
            first = f"Pod {name} runs on {standing.node}{_charge(explanation)}."
        case PodOutcome.PLACED:
            first = f"A round now gives pod {name} node {standing.node}{_charge(explanation)}."
        case PodOutcome.PREEMPTS:
            first = (
                f"A round now gives pod {name} node {standing.node} once {phrase_conditions(standing.after)} gone"
                f"{_charge(explanation)}."
            )
        case _:
            first = f"Pod {name} goes on waiting: {standing.reason.rstrip('.')}."
    return first, f"{counted} once the round is done."


def phrase_conditions(pods: Iterable[str]) -> str:
    """Return the names of pods and a verb: ``a, b are``."""
    named = list(pods)
    return f"{', '.join(named)} {'is' if len(named) == 1 else 'are'}"


def _charge(explanation: PodExplanation) -> str:
    """Return a phrase on what the pod's node costs, and by how much the next node differs."""
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
    """Return a solver's verdicts on nodes by name of the node."""
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
