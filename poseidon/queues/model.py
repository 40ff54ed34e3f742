"""Defines one form of quotas for the queues of all projects, and the records by which the solver gets these quotas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import msgspec

from poseidon.kube.api.other_projects.kueue_topology import TopologyLevels
from poseidon.kube.parsing.quantities import MAX_AMOUNT

QUOTA_RECORD: Final = "Quota"
"""The kind of the records that describe quotas; the solver defines their payload."""
FLAVOR_RECORD: Final = "ResourceFlavor"
"""The kind of the records that describe flavors."""

UNLIMITED: Final = MAX_AMOUNT
"""The amount that stands for "no limit"."""

Quotas: TypeAlias = Mapping[str, Mapping[str, int]]
"""Amounts by flavor and resource, in the protocol's units."""

NEVER, LOWER_PRIORITY, LOWER_OR_NEWER, ANY = "Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any"
"""The preemption policies, by Kueue's names."""

MAY_STOP_SEARCH, TRY_NEXT_FLAVOR = "MayStopSearch", "TryNextFlavor"
"""The first of these, by Kueue's names: a pod borrows in a flavor before it tries the next flavor."""

BORROWING_FIRST, PREEMPTION_FIRST = "BorrowingOverPreemption", "PreemptionOverBorrowing"
"""The first of these, by Kueue's names: borrowing in one flavor is better than evicting pods in another."""

STRICT, BEST_EFFORT = "StrictFIFO", "BestEffortFIFO"
"""The orders in which a queue's pods are admitted, by Kueue's names."""


@dataclass(frozen=True, slots=True)
class CoveredResources:
    """A group of resources: a pod gets all of these from one flavor."""

    resources: tuple[str, ...]
    """The names of the resources."""
    flavors: tuple[str, ...]
    """The names of the flavors, with the most preferred one first."""


@dataclass(frozen=True, slots=True)
class PreemptionPolicies:
    """A queue's preemption policies, in Kueue's words: which pods may be evicted for pods of the queue."""

    within: str = NEVER
    """Which pods of the same queue may be evicted: a word of Kueue's such as LowerPriority."""
    reclaim: str = NEVER
    """Which pods of other queues may be evicted, if those queues have borrowed this queue's quota."""
    borrow: str = NEVER
    """Which pods of other queues may be evicted if this queue has to borrow."""
    threshold: int | None = None
    """The highest priority of pods that may be evicted under ``borrow``; None: any priority below the preemptor's."""
    strategies: tuple[str, ...] = ()
    """The comparisons of shares after which pods of queues that borrow more may be evicted, in order; empty for all."""
    beyond_quota: bool = True
    """Whether pods for which no quota below the root is large enough may evict other pods at all."""


NO_PREEMPTION: Final = PreemptionPolicies()


@dataclass(frozen=True, slots=True)
class QuotaNode:
    """A quota in a tree of quotas: the quota of a queue, or one that several queues share."""

    name: str
    """The name, unique among the quotas of all projects, such as ``ClusterQueue/team-a``."""
    parent: str = ""
    """The name of the quota above, which this quota shares with its siblings; "" for a root."""
    covered: tuple[CoveredResources, ...] = ()
    """The groups of resources that the quota limits."""
    nominal: Quotas = field(default_factory=dict)
    """The quota's own amounts, without borrowing."""
    borrowing: Quotas = field(default_factory=dict)
    """How much the quota may borrow from its parent, at most; unlimited where nothing is stated."""
    lending: Quotas = field(default_factory=dict)
    """How much of its own amounts other quotas may use, at most; all of a resource for which no amount is stated."""
    limit: Quotas = field(default_factory=dict)
    """How much the quota's pods may use, borrowed amounts included; unlimited where nothing is stated."""
    guarantee: Quotas = field(default_factory=dict)
    """The part of the quota's own amounts that other quotas may never use."""
    weight: float = 1.0
    """The quota's weight among its siblings when shares are compared."""
    order: str = BEST_EFFORT
    """The order in which the quota's pods are admitted: ``STRICT`` or ``BEST_EFFORT``."""
    when_can_borrow: str = MAY_STOP_SEARCH
    """Whether the quota's pods borrow in a flavor before they try the next flavor."""
    when_can_preempt: str = TRY_NEXT_FLAVOR
    """Whether the quota's pods evict other pods in a flavor before they try the next flavor."""
    preference: str = BORROWING_FIRST
    """Whether borrowing in one flavor is better for the quota's pods than evicting other pods in another flavor."""
    pod_set_flavors: str = "Any"
    """Whether all pods of a pod set use the ``Same`` flavor, or each pod ``Any`` flavor."""
    preemption: PreemptionPolicies = NO_PREEMPTION
    """Which pods may be evicted for pods of this quota."""
    fair: bool = False
    """Whether shares decide which quota borrows."""
    reclaimable: bool = True
    """Whether pods of other quotas may evict this quota's pods, to reclaim what it borrows."""
    open_ended: bool = False
    """Whether resources that the quota does not name are unlimited; otherwise the quota's pods may not use them."""
    problem: str = ""
    """Why no pod of the quota is placed, "" if its pods can be placed."""
    reason: str = ""
    """The problem in one word, for the condition of the quota's object."""

    @property
    def title(self) -> str:
        """The quota's name without the kind, for texts."""
        return self.name.partition("/")[2]

    def payload(self) -> bytes:
        """Return the payload of the quota's record; equal quotas have equal payloads."""
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
            "whenCanPreempt": self.when_can_preempt,
            "preference": self.preference,
            **({"podSetFlavors": self.pod_set_flavors} if self.pod_set_flavors != "Any" else {}),
            "preemption": {
                "within": self.preemption.within,
                "reclaim": self.preemption.reclaim,
                "borrow": {"policy": self.preemption.borrow, "threshold": self.preemption.threshold},
                **({"strategies": self.preemption.strategies} if self.preemption.strategies else {}),
                **({} if self.preemption.beyond_quota else {"beyondQuota": False}),
            },
            "fair": self.fair,
            **({} if self.reclaimable else {"reclaimable": False}),
            "uncovered": "allow" if self.open_ended else "refuse",
            "active": not self.problem,
            "message": self.problem,
        }
        return msgspec.json.encode(value, order="sorted")


@dataclass(frozen=True, slots=True)
class Flavor:
    """A kind of nodes, distinguished by labels, for which quotas state amounts."""

    name: str
    """The flavor's name, unique among the flavors of all projects."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The labels that the flavor's nodes have; if empty, all nodes belong to the flavor."""
    taints: tuple[Mapping[str, str], ...] = ()
    """The taints of the flavor's nodes, which pods have to tolerate."""
    tolerations: tuple[Mapping[str, str], ...] = ()
    """The tolerations that the flavor gives to its pods."""
    topology: TopologyLevels | None = None
    """The topology whose level labels all nodes of the flavor have; None if the nodes need no such labels."""
    problem: str = ""
    """Why quotas of this flavor cannot be used, "" if they can."""

    def payload(self) -> bytes:
        """Return the payload of the flavor's record; equal flavors have equal payloads."""
        inside = {self.topology.key: self.topology.name} if self.topology is not None else {}
        value = {
            "labels": {**self.labels, **inside},
            "taints": [dict(each) for each in self.taints],
            "tolerations": [dict(each) for each in self.tolerations],
        }
        return msgspec.json.encode(value, order="sorted")


@dataclass(frozen=True, slots=True)
class QuotaTrees:
    """The quotas and flavors of one project, and the settings of its objects that have no effect here."""

    quotas: tuple[QuotaNode, ...] = ()
    """The quotas, parents and children in any order."""
    flavors: tuple[Flavor, ...] = ()
    """The flavors that the quotas name."""
    ignored: Mapping[str, str] = field(default_factory=dict)
    """A text about the settings of an object that have no effect, by name of the quota or of another object."""


def iterate_topologies(
    quotas: Iterable[QuotaNode], flavors: Mapping[str, Flavor]
) -> Iterator[tuple[str, tuple[TopologyLevels, ...]]]:
    """Yield each quota whose flavors have topologies, with these topologies, each once."""
    levels = {name: each.topology for name, each in flavors.items() if each.topology is not None}
    for quota in quotas if levels else ():
        names = (name for group in quota.covered for name in group.flavors if name in levels)
        found = tuple(dict.fromkeys(levels[name] for name in names))
        if found:
            yield quota.name, found


def _plain(quotas: Quotas) -> dict[str, dict[str, int]]:
    return {flavor: dict(by_resource) for flavor, by_resource in quotas.items() if by_resource}
