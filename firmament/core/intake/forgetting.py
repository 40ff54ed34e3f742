"""Forgets what has served its purpose: classes, rows over machines of shapes that nobody waits with, and columns of
resources that no machine offers.

So memory follows the work that is there, however many classes and names have come and gone.
"""

from __future__ import annotations

import numpy as np

from firmament.core.filters.node_filters import StaticRows
from firmament.core.queue.reservations import Reservations
from firmament.core.scoring.kept_rows import KeptRows
from firmament.core.snapshot.price_memory import KnownWorths
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import Evictions
from firmament.core.state.tasks import State


class Forgetting:
    """Keeps the numbers of classes and shapes the same wherever they are known."""

    def __init__(
        self,
        cluster: Cluster,
        static_rows: StaticRows,
        kept_rows: KeptRows,
        worths: KnownWorths,
        reservations: Reservations,
        evictions: Evictions,
    ) -> None:
        self._cluster = cluster
        self._static_rows = static_rows
        self._kept_rows = kept_rows
        self._worths = worths
        self._reservations = reservations
        self._evictions = evictions

    def drop_classes(self) -> None:
        """Drop classes that have served their purpose. Not during a round, whose picture refers to their rows."""
        if self._cluster.classes.has_surplus:
            moved = self._cluster.forget_classes(self._evictions.classes())
            self._static_rows.renumber(moved.shapes)
            self._kept_rows.renumber(moved.shapes)
            self._worths.renumber(moved.shapes)
            self._reservations.renumber(moved.classes)
            self._evictions.renumber(moved.classes)

    def drop_columns(self) -> None:
        """Take back the columns of resources that no machine offers. Not during a round, whose picture has them."""
        if self._cluster.resources.has_surplus:
            self._cluster.forget_resources()

    def drop_idle_rows(self) -> None:
        """Drop rows over machines of shapes that no pending task has."""
        tasks = self._cluster.tasks
        classes = np.unique(tasks.cls[tasks.in_state(State.PENDING)]).tolist()
        self._static_rows.keep_only({self._cluster.classes.rows[cls].shape for cls in classes})
