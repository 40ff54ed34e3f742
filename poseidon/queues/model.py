"""Quotas in one form for the queues of all projects, and their records for the solver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import msgspec

from poseidon.kube.api.other_projects.kueue_topology import TopologyLevels
from poseidon.kube.parsing.quantities import MAX_AMOUNT

QUOTA_RECORD: Final = "Quota"
"""Kind of the records of quotas; the solver defines their payload."""
FLAVOR_RECORD: Final = "ResourceFlavor"
"""Kind of the records of flavors."""

UNLIMITED: Final = MAX_AMOUNT
"""The amount that stands for "without limit"."""

Quotas: TypeAlias = Mapping[str, Mapping[str, int]]
"""Amounts by flavor and resource, in the protocol's units."""

NEVER, LOWER_PRIORITY, LOWER_OR_NEWER, ANY = "Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any"
"""Policies of preemption, by Kueue's names."""

MAY_STOP_SEARCH, TRY_NEXT_FLAVOR = "MayStopSearch", "TryNextFlavor"
"""Whether a pod borrows in a flavor (the first) or tries the next flavor before that, by Kueue's names."""

BORROWING_FIRST, PREEMPTION_FIRST = "BorrowingOverPreemption", "PreemptionOverBorrowing"
"""Whether a pod rather borrows in one flavor or evicts others in another, by Kueue's names."""

STRICT, BEST_EFFORT = "StrictFIFO", "BestEffortFIFO"
"""Orders within a queue, by Kueue's names."""


@dataclass(frozen=True, slots=True)
class CoveredResources:
    """A group of resources: a pod gets all of these from one flavor."""

    resources: tuple[str, ...]
    """Their names."""
    flavors: tuple[str, ...]
    """Names of the flavors, the most preferred first."""


@dataclass(frozen=True, slots=True)
class PreemptionPolicies:
    """A queue's preemption policies, in Kueue's words: which pods may be evicted for its own."""

    within: str = NEVER
    """Which pods of the same queue may be evicted: a word of Kueue's such as LowerPriority."""
    reclaim: str = NEVER
    """Which pods of other queues may be evicted, if those queues have borrowed this queue's quota."""
    borrow: str = NEVER
    """Which pods of other queues may be evicted while this queue borrows."""
    threshold: int | None = None
    """The highest priority of pods that ``borrow`` lets be evicted; None: any priority below the preemptor's."""
    strategies: tuple[str, ...] = ()
    """Comparisons of shares by which pods of queues that borrow more may be evicted, in order; none stated: all."""
    beyond_quota: bool = True
    """Whether pods for which no quota below the root is large enough may evict others at all."""


NO_PREEMPTION: Final = PreemptionPolicies()


@dataclass(frozen=True, slots=True)
class QuotaNode:
    """A node in a tree of quotas: a queue, or a quota that several queues share."""

    name: str
    """Unique among the quotas of all projects, such as ``ClusterQueue/team-a``."""
    parent: str = ""
    """Name of the quota above, which it shares with its siblings; "" for a root."""
    covered: tuple[CoveredResources, ...] = ()
    """The groups of resources that the quota limits."""
    nominal: Quotas = field(default_factory=dict)
    """The quota's own amounts, without borrowing."""
    borrowing: Quotas = field(default_factory=dict)
    """How much it may borrow from its parent, at most; unlimited where nothing is stated."""
    lending: Quotas = field(default_factory=dict)
    """How much of its own amounts others may use, at most; all where nothing is stated."""
    limit: Quotas = field(default_factory=dict)
    """How much its pods may use, borrowed amounts included; unlimited where nothing is stated."""
    guarantee: Quotas = field(default_factory=dict)
    """Own amounts that are never lent."""
    weight: float = 1.0
    """Its share among its siblings."""
    order: str = BEST_EFFORT
    """The order in which its pods are admitted: ``STRICT`` or ``BEST_EFFORT``."""
    when_can_borrow: str = MAY_STOP_SEARCH
    """Whether its pods borrow in a flavor before they try the next one."""
    when_can_preempt: str = TRY_NEXT_FLAVOR
    """Whether its pods evict others in a flavor before they try the next one."""
    preference: str = BORROWING_FIRST
    """Whether its pods rather borrow in one flavor or evict others in another."""
    pod_set_flavors: str = "Any"
    """Whether all pods of a pod set take the ``Same`` flavor, or each ``Any`` of them."""
    preemption: PreemptionPolicies = NO_PREEMPTION
    """Which pods may be evicted for pods of this queue."""
    fair: bool = False
    """Whether shares decide who borrows."""
    reclaimable: bool = True
    """Whether pods of other queues may evict its pods, to take back what it borrows."""
    open_ended: bool = False
    """Whether resources that the quota does not name are unlimited; otherwise its pods may use none of these."""
    problem: str = ""
    """Why none of its pods is placed, "" if they are."""
    reason: str = ""
    """The problem in one word, for the condition of its object."""

    @property
    def title(self) -> str:
        """The name without the kind, for people."""
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
    """Its name, unique among the flavors of all projects."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that its nodes have; if empty, all nodes are of the flavor."""
    taints: tuple[Mapping[str, str], ...] = ()
    """Taints that its nodes have, which pods have to tolerate."""
    tolerations: tuple[Mapping[str, str], ...] = ()
    """Tolerations that its pods get."""
    topology: TopologyLevels | None = None
    """The levels of which its nodes have all labels; None: nodes need none."""
    problem: str = ""
    """Why its quotas make no sense, "" if they do."""

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
    """Quotas, parents and children in any order."""
    flavors: tuple[Flavor, ...] = ()
    """Flavors that the quotas name."""
    ignored: Mapping[str, str] = field(default_factory=dict)
    """By name of a quota or another object: which of its settings are not honoured, in words for people."""


def iterate_topologies(
    quotas: Iterable[QuotaNode], flavors: Mapping[str, Flavor]
) -> Iterator[tuple[str, tuple[TopologyLevels, ...]]]:
    """Yield quotas whose flavors have topologies, with these, each once."""
    levels = {name: each.topology for name, each in flavors.items() if each.topology is not None}
    for quota in quotas if levels else ():
        names = (name for group in quota.covered for name in group.flavors if name in levels)
        found = tuple(dict.fromkeys(levels[name] for name in names))
        if found:
            yield quota.name, found


def _plain(quotas: Quotas) -> dict[str, dict[str, int]]:
    return {flavor: dict(by_resource) for flavor, by_resource in quotas.items() if by_resource}
