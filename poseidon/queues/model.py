"""One tree of quotas for the queues of all projects, and its records for the solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import msgspec

from poseidon.kube.parsing.quantities import MAX_AMOUNT

QUOTA_RECORD: Final = "Quota"
"""Kind of the records of quotas; the solver says what their payload means."""
FLAVOR_RECORD: Final = "ResourceFlavor"
"""Kind of the records of flavors."""

UNLIMITED: Final = MAX_AMOUNT
"""The amount that stands for "without limit"."""

Quotas: TypeAlias = Mapping[str, Mapping[str, int]]
"""Amounts by flavor and resource, in the protocol's units."""

NEVER, LOWER_PRIORITY, LOWER_OR_NEWER, ANY = "Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any"
"""Policies of preemption, by Kueue's names."""

MAY_STOP_SEARCH, TRY_NEXT_FLAVOR = "MayStopSearch", "TryNextFlavor"
"""What a pod does that would have to borrow in a flavor, by Kueue's names."""

STRICT, BEST_EFFORT = "StrictFIFO", "BestEffortFIFO"
"""Orders within a queue, by Kueue's names."""


@dataclass(frozen=True, slots=True)
class CoveredResources:
    """Resources of which a pod gets all from one flavor."""

    resources: tuple[str, ...]
    """Their names."""
    flavors: tuple[str, ...]
    """Names of the flavors, the preferred first."""


@dataclass(frozen=True, slots=True)
class PreemptionPolicies:
    """A queue's preemption policies, in Kueue's words: which pods may be evicted for its own."""

    within: str = NEVER
    """Which pods of the same queue may be evicted, in a word such as LowerPriority."""
    reclaim: str = NEVER
    """Which pods of other queues may be evicted, where these have borrowed what this queue is due."""
    borrow: str = NEVER
    """Which pods of other queues may be evicted while this queue borrows."""
    threshold: int | None = None
    """The highest priority of pods that are evicted by ``borrow``; None: any that is lower than the preemptor's."""


NO_PREEMPTION: Final = PreemptionPolicies()


@dataclass(frozen=True, slots=True)
class QuotaNode:
    """A node of a tree of quotas: a queue, or what several queues share."""

    name: str
    """Unique among the quotas of all projects, such as ``ClusterQueue/team-a``."""
    parent: str = ""
    """Name of the quota that it shares with others, "" for a root."""
    covered: tuple[CoveredResources, ...] = ()
    """Groups of resources that it limits."""
    nominal: Quotas = field(default_factory=dict)
    """What it has by itself."""
    borrowing: Quotas = field(default_factory=dict)
    """How much it may borrow from its parent; without a statement: all."""
    lending: Quotas = field(default_factory=dict)
    """How much of its own quota others may use; without a statement: all of it."""
    limit: Quotas = field(default_factory=dict)
    """Upper limit of its use, borrowed or not; without a statement: no limit."""
    guarantee: Quotas = field(default_factory=dict)
    """What it has by itself and never lends."""
    weight: float = 1.0
    """Its share among its siblings."""
    order: str = BEST_EFFORT
    """How its pods follow one another."""
    when_can_borrow: str = MAY_STOP_SEARCH
    """Whether its pods borrow in a flavor before they try the next one."""
    preemption: PreemptionPolicies = NO_PREEMPTION
    """Which pods make way for its own."""
    fair: bool = False
    """Whether shares decide who borrows."""
    open_ended: bool = False
    """Whether resources that it does not name are unlimited; otherwise none of them may be used."""
    problem: str = ""
    """Why none of its pods is placed, "" if they are."""
    reason: str = ""
    """The problem in one word, for the condition of its object."""

    @property
    def title(self) -> str:
        """What people call it: its name without the kind."""
        return self.name.partition("/")[2]

    def payload(self) -> bytes:
        """Return the content of its record; equal quotas have equal ones."""
        value: dict[str, Any] = {
            "parent": self.parent,
            "flavors": [
                {"resources": list(each.resources), "flavors": list(each.flavors)} for each in self.covered
            ],
            "nominal": _plain(self.nominal),
            "borrowing": _plain(self.borrowing),
            "lending": _plain(self.lending),
            "limit": _plain(self.limit),
            "guarantee": _plain(self.guarantee),
            "weight": self.weight,
            "order": self.order,
            "whenCanBorrow": self.when_can_borrow,
            "preemption": {
                "within": self.preemption.within,
                "reclaim": self.preemption.reclaim,
                "borrow": {"policy": self.preemption.borrow, "threshold": self.preemption.threshold},
            },
            "fair": self.fair,
            "uncovered": "allow" if self.open_ended else "refuse",
            "active": not self.problem,
            "message": self.problem,
        }
        return msgspec.json.encode(value, order="sorted")


@dataclass(frozen=True, slots=True)
class Flavor:
    """Nodes of a kind, of which quotas speak."""

    name: str
    """Its name, unique among the flavors of all projects."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that its nodes have; nothing stated: all nodes."""
    taints: tuple[Mapping[str, str], ...] = ()
    """Taints that its nodes have, which pods have to tolerate."""
    tolerations: tuple[Mapping[str, str], ...] = ()
    """Tolerations that its pods get."""

    def payload(self) -> bytes:
        """Return the content of its record; equal flavors have equal ones."""
        value = {
            "labels": dict(self.labels),
            "taints": [dict(each) for each in self.taints],
            "tolerations": [dict(each) for each in self.tolerations],
        }
        return msgspec.json.encode(value, order="sorted")


@dataclass(frozen=True, slots=True)
class QuotaTrees:
    """All quotas of one project, and what its objects ask for and do not get."""

    quotas: tuple[QuotaNode, ...] = ()
    """Quotas, parents and children in any order."""
    flavors: tuple[Flavor, ...] = ()
    """Flavors that they name."""
    ignored: Mapping[str, str] = field(default_factory=dict)
    """By the name of a quota, or of another object, what of it is not honoured, in words for people."""


def _plain(quotas: Quotas) -> dict[str, dict[str, int]]:
    return {flavor: dict(by_resource) for flavor, by_resource in quotas.items() if by_resource}
