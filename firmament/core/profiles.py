"""Keeps what the rounds of each profile reuse: answers of models, first costs, prices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from cost_models.interface import Int64
from firmament.core.few_tasks.first_costs import FirstCosts
from firmament.core.queue.profile_turns import BASE
from firmament.core.rules.tree_groups.compilation import MachineTrees
from firmament.core.scoring.kept_rows import KeptRows
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.snapshot.price_memory import PriceMemory
from firmament.core.state.cluster import Cluster


@dataclass(frozen=True, slots=True)
class PlacementProfile:
    """What is kept for one profile of a cluster."""

    context: RoundContext
    """The context with which the profile's rounds begin."""
    kept_rows: KeptRows
    """The answers of the profile's models."""
    first_costs: FirstCosts
    """What one task costs on each machine by the profile's models, without crowding."""
    prices: PriceMemory = field(default_factory=PriceMemory)
    """The prices that the profile's rounds have found."""


class Profiles:
    """The profiles of one cluster by name; tasks that name no profile, or an unknown one, have `BASE`.

    All profiles share the cluster and what does not depend on models: filters, reservations and evictions in
    progress.
    """

    def __init__(self, context: RoundContext, kept_rows: KeptRows, first_costs: FirstCosts) -> None:
        """``context``: that of `BASE`, whose configuration contains those of the other profiles.

        `BASE` uses ``kept_rows`` and ``first_costs``. Each profile other than `BASE` gets caches of its own, which
        begin to be used at the same number of machines.
        """
        base = replace(context, kept_rows=kept_rows)
        self._by_name = {BASE: PlacementProfile(base, kept_rows, first_costs)}
        for name, each in context.configuration.profiles.items():
            kept = KeptRows(least_machines=kept_rows.least_machines)
            own = replace(context, configuration=each, trees=MachineTrees(), kept_rows=kept)
            self._by_name[name] = PlacementProfile(own, kept, FirstCosts(first_costs.least_machines))

    def __getitem__(self, name: str) -> PlacementProfile:
        """Return the profile with this name; `BASE` if there is no such profile."""
        return self._by_name.get(name) or self._by_name[BASE]

    def divide(self, cluster: Cluster, rows: Iterable[int]) -> list[list[int]]:
        """Return tasks (rows) by profile, ordered by the profile's name.

        The tasks of a profile keep the order given.
        """
        found: dict[str, list[int]] = {}
        for row in rows:
            found.setdefault(self._name_profile(cluster, row), []).append(row)
        return [found[name] for name in sorted(found)]

    def find_profile(self, cluster: Cluster, row: int) -> PlacementProfile:
        """Return the profile of a task (row)."""
        return self._by_name[self._name_profile(cluster, row)]

    def _name_profile(self, cluster: Cluster, row: int) -> str:
        name = cluster.classes.rows[int(cluster.tasks.cls[row])].content.profile
        return name if name in self._by_name else BASE

    def free_memory(self) -> None:
        """Drop all data that only make rounds faster."""
        for each in self._by_name.values():
            each.kept_rows.clear()
            each.first_costs.clear()

    def renumber_shapes(self, new_row: Int64) -> None:
        """Move shapes to new rows: ``new_row[old]``, int64[S], -1 for removed shapes."""
        for each in self._by_name.values():
            each.kept_rows.renumber(new_row)
            each.first_costs.clear()
            each.prices.renumber(new_row)
