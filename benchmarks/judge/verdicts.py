"""Collects the judge's findings, and compares pending pods' messages with kube-scheduler's."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

KNOWN_CAUSES = {"reservation": "reserved for a pod that has waited longer"}
"""Known causes of misses by our message."""

_COUNTS = re.compile(r"^0/(\d+) nodes are available:(.*)$", re.DOTALL)
_COUNT = re.compile(r"(?:^| )(\d+) (?=[A-Zn])")
_PREEMPTION = " no new claims to deallocate, "


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference: a ``violation`` (kube-scheduler refuses where we bind) or a ``miss`` (it binds what we leave)."""

    seed: int
    kind: str
    pod: str
    node: str
    ours: str
    theirs: str

    @property
    def cause(self) -> str:
        """A known cause, or "unexplained"."""
        named = (name for name, text in KNOWN_CAUSES.items() if self.kind == "miss" and text in self.ours)
        return next(named, "unexplained")


@dataclass(frozen=True, slots=True)
class PendingMessages:
    """The messages of both schedulers about one pod that both leave pending."""

    pod: str
    ours: str
    theirs: str

    @property
    def equal(self) -> bool:
        """Whether our message is kube-scheduler's; more text may follow it."""
        return self.ours == self.theirs or self.ours.startswith(f"{self.theirs} ")

    @property
    def one_reason_per_node(self) -> bool:
        """Whether kube-scheduler names one reason per node, or one for the pod."""
        return one_reason_per_node(self.theirs)


@dataclass
class SeedResult:
    """The verdict on one cluster. ``decided_by``: "plan" or "processes"."""

    seed: int
    """Seed of the cluster."""
    decided_by: str
    """"plan" or "processes"."""
    bound: int = 0
    """Pods bound."""
    pending: int = 0
    """Pods that stay pending."""
    orders: int = 1
    """Orders in which the bindings were replayed."""
    findings: list[Finding] = field(default_factory=list)
    """Differences found."""
    told: list[PendingMessages] = field(default_factory=list)
    """Reasons given for pending pods."""


def one_reason_per_node(message: str) -> bool:
    """Return whether the figures of a message add up to its nodes, or it has none."""
    found = _COUNTS.match(message.split(_PREEMPTION, maxsplit=1)[0])
    if found is None:
        return True
    figures = [int(each) for each in _COUNT.findall(found.group(2).replace(",", ""))]
    return not figures or sum(figures) == int(found.group(1))


def summary(results: list[SeedResult]) -> dict[str, Any]:
    """Return a summary of all seeds, as JSON."""
    findings = [each for result in results for each in result.findings]
    told = [each for result in results for each in result.told]
    single = [each for each in told if each.one_reason_per_node]
    return {
        "seeds": len(results),
        "byProcesses": sum(result.decided_by == "processes" for result in results),
        "bindings": sum(result.bound for result in results),
        "pending": sum(result.pending for result in results),
        "violations": sum(each.kind == "violation" for each in findings),
        "misses": dict(Counter(each.cause for each in findings if each.kind == "miss")),
        "otherOrders": sum(result.orders > 1 for result in results),
        "messages": _shares(told),
        "messagesWithOneReasonPerNode": _shares(single),
        "findings": [_as_dict(each) for each in findings],
        "differingMessages": [
            {"pod": each.pod, "ours": each.ours, "theirs": each.theirs} for each in single if not each.equal
        ],
    }


def _shares(told: list[PendingMessages]) -> dict[str, Any]:
    equal = sum(each.equal for each in told)
    return {"compared": len(told), "equal": equal, "share": round(equal / len(told), 4) if told else None}


def _as_dict(finding: Finding) -> dict[str, Any]:
    names = ("seed", "kind", "cause", "pod", "node", "ours", "theirs")
    return {name: getattr(finding, name) for name in names}
