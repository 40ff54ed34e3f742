"""What is said of a pod and every node: whether it may run there, why not, and what each model would charge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from protos.firmament.v1 import scheduler_pb2 as pb


class UnknownPodError(LookupError):
    """There is nothing to explain: the pod is not in the input, or has ended. The message says which."""


@dataclass(frozen=True, slots=True)
class Charge:
    """One model's say: its native figure, its 0..100 score (None: it has none), the points it charges, and lines for
    people.
    """

    feasible: bool
    raw: float
    score: float | None
    cost: float
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the pod may use a node, the root cause first if not, and what every model charges."""

    feasible: bool
    reasons: tuple[str, ...]
    cost: float
    models: Mapping[str, Charge]


@dataclass(frozen=True, slots=True)
class PodExplanation:
    """Verdicts by node, in order of names. ``node``: where the pod runs, "" if nowhere.

    ``outlook``: what a round now would not do for a pod that waits, and how far its group is; lines for people.
    """

    pod: str
    node: str
    nodes: Mapping[str, Verdict]
    warnings: tuple[str, ...]
    outlook: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        return {"pod": self.pod, "nodes": {name: _verdict(each) for name, each in self.nodes.items()}}


def verdicts(explanation: pb.Explanation) -> dict[str, Verdict]:
    """Return what a solver says of each node, by name."""
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
    """Return a whole figure as an integer, any other one without the noise of its last digits."""
    rounded = round(figure, 6)
    return int(rounded) if rounded.is_integer() else rounded
