"""What keeps one task off each machine: the same for a task that waits and for one that somebody asks about."""

from __future__ import annotations

from collections.abc import Iterable

from cost_models.interface import Int64
from firmament.core.filters.node_filters import StaticRow
from firmament.core.filters.pinning import pin_refusals
from firmament.core.filters.root_causes import Refusal, RootCauses, lacks, root_causes, rule_refusals
from firmament.core.rules.counters import RuleState
from firmament.core.state.cluster import Cluster


def verdict(
    cluster: Cluster,
    cls: int,
    static: StaticRow,
    free: Int64,
    rules: RuleState | None,
    index: int,
    others: Iterable[Refusal],
) -> RootCauses:
    """Kube-scheduler's filters in its order, then ``others``: what models, limits, groups and reservations refuse.

    ``cls``: row of the class; ``static``: what its shape is refused by itself; ``free``: int64[M, K], room as its tasks
    see it; ``rules``: None for none, in which the class is number ``index``.
    """
    request = cluster.request_of(cls)
    found = pin_refusals(cluster, cls) + static.refusals()
    found += lacks(free[:, : len(request)], request, cluster.resources.names)
    found += [] if rules is None else rule_refusals(rules.refusals(index))
    return root_causes(len(cluster.machines), [*found, *others])
