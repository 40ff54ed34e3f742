"""Builds trees of quotas for projects without flavors: Volcano, KAI, Koordinator, scheduler-plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from poseidon.kube.parsing.defects import Defect, list_defects
from poseidon.queues.model import (
    ANY,
    BEST_EFFORT,
    LOWER_PRIORITY,
    UNLIMITED,
    CoveredResources,
    Flavor,
    PreemptionPolicies,
    QuotaNode,
    QuotaTrees,
)
from poseidon.queues.quota_reading import find_cycles

ANY_NODE = "any node"
"""The only flavor of these trees, which contains all nodes; no object can have this name, because of the space."""

RECLAIMING = PreemptionPolicies(within=LOWER_PRIORITY, reclaim=ANY)
"""The preemption policies of these projects: for pods of higher priority in the same queue, and to reclaim amounts."""

_MOST_DEFECTS = 3


@dataclass(slots=True)
class PlainQuota:
    """A queue without flavors, whose amounts are by resource."""

    name: str
    """The name of the queue's quota."""
    parent: str = ""
    """The name of the quota above, "" for a root."""
    nominal: Mapping[str, int] = field(default_factory=dict)
    """The queue's own amounts, without borrowing."""
    limit: Mapping[str, int] = field(default_factory=dict)
    """How much the queue's pods may use at most, borrowed amounts included."""
    guarantee: Mapping[str, int] = field(default_factory=dict)
    """The part of the queue's own amounts that other queues may never use."""
    lends: bool = True
    """Whether other queues may use what this queue does not use of its own amounts."""
    weight: float = 1.0
    """The queue's weight among its siblings when they borrow."""
    order: str = BEST_EFFORT
    """The order in which the queue's pods are admitted: ``STRICT`` or ``BEST_EFFORT``."""
    reclaimable: bool = True
    """Whether pods of other queues may evict this queue's pods, to reclaim what it borrows."""
    defects: list[Defect] = field(default_factory=list)
    """The faults of the queue's object."""
    problem: str = ""
    """Why the queue admits no pods although its object is well-formed, "" if it admits pods."""
    ignored: str = ""
    """A text about the settings of the queue's object that have no effect."""

    @property
    def resources(self) -> set[str]:
        """The names of the resources for which the queue states amounts."""
        return {*self.nominal, *self.limit, *self.guarantee}


def grow_trees(
    queues: Iterable[PlainQuota], roots: Mapping[str, bool], *, fair: bool, open_ended: bool
) -> QuotaTrees:
    """Return the trees of quotas of these queues.

    ``roots`` says of each root, by name, whether its own amounts are unlimited, so that queues may borrow all that the
    cluster has. ``fair``: shares decide which queue borrows. ``open_ended``: resources that no queue states are not
    limited.
    """
    found = {each.name: each for each in queues}
    resources = tuple(sorted(set().union(*(each.resources for each in found.values()))))
    covered = (CoveredResources(resources, (ANY_NODE,)),) if resources else ()
    quotas = {
        name: QuotaNode(
            name,
            covered=covered,
            nominal={ANY_NODE: dict.fromkeys(resources, UNLIMITED)} if lends else {},
            fair=fair,
            open_ended=open_ended,
        )
        for name, lends in roots.items()
        if name not in found
    }
    for each in found.values():
        quotas[each.name] = _grow_quota(each, covered, fair=fair, open_ended=open_ended)
        if roots.get(each.name):
            nominal = {ANY_NODE: dict.fromkeys(resources, UNLIMITED)}
            quotas[each.name] = replace(quotas[each.name], nominal=nominal)
    _mark_lost(quotas)
    ignored = {each.name: each.ignored for each in found.values() if each.ignored}
    return QuotaTrees(tuple(quotas.values()), (Flavor(ANY_NODE),) if quotas else (), ignored)


def _grow_quota(
    queue: PlainQuota, covered: tuple[CoveredResources, ...], *, fair: bool, open_ended: bool
) -> QuotaNode:
    by_flavor = {
        name: {ANY_NODE: dict(amounts)}
        for name, amounts in (
            ("nominal", queue.nominal),
            ("limit", queue.limit),
            ("guarantee", queue.guarantee),
        )
        if amounts and not queue.defects
    }
    problem = list_defects(queue.defects, _MOST_DEFECTS) or queue.problem
    return QuotaNode(
        queue.name,
        queue.parent,
        covered,
        lending={} if queue.lends else {ANY_NODE: dict.fromkeys(covered[0].resources if covered else (), 0)},
        weight=queue.weight,
        order=queue.order,
        preemption=RECLAIMING,
        fair=fair,
        reclaimable=queue.reclaimable,
        open_ended=open_ended,
        problem=problem,
        reason=("InvalidSpec" if queue.defects else "Stopped") if problem else "",
        nominal=by_flavor.get("nominal", {}),
        limit=by_flavor.get("limit", {}),
        guarantee=by_flavor.get("guarantee", {}),
    )


def _mark_lost(quotas: dict[str, QuotaNode]) -> None:
    """Set a problem on the queues whose chain of parents ends at no root, or contains a faulty queue."""
    for name in list(find_cycles({name: each.parent for name, each in quotas.items()})):
        problem = f"the way up from {quotas[name].parent.partition('/')[2]} goes in a circle; give it another parent"
        quotas[name] = replace(quotas[name], parent="", problem=problem, reason="InvalidSpec")
    for name, quota in list(quotas.items()):
        if quota.parent and quota.parent not in quotas:
            problem = (
                f"its parent {quota.parent.partition('/')[2]} does not exist; create it, or name another one"
            )
            quotas[name] = replace(quota, parent="", problem=problem, reason="InvalidSpec")
    for name, quota in list(quotas.items()):
        above = quotas.get(quota.parent)
        while above is not None and not above.problem:
            above = quotas.get(above.parent)
        if above is not None and not quota.problem:
            problem = f"{above.name.partition('/')[2]}, above it: {above.problem}"
            quotas[name] = replace(quota, problem=problem, reason=above.reason)
