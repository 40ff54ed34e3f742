"""What all rounds of one cluster share."""

from __future__ import annotations

from dataclasses import dataclass

from firmament.core.configuration import CoreConfiguration
from firmament.core.constraints.tree_groups import MachineTrees
from firmament.core.filters.node_filters import StaticRows
from firmament.core.queue.reservations import Reservations
from firmament.core.scoring.kept_rows import KeptRows
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import PendingEvictions


@dataclass(frozen=True, slots=True)
class RoundContext:
    """The ``cluster``, what its filters say of it by themselves (``static_rows``), and how rounds are configured; what
    goes on between rounds (``reservations``, ``evictions`` under way), and what makes them faster: the tree of machines
    and rows over them that are kept, None: none are.
    """

    cluster: Cluster
    static_rows: StaticRows
    configuration: CoreConfiguration
    reservations: Reservations
    evictions: PendingEvictions
    trees: MachineTrees
    kept_rows: KeptRows | None
