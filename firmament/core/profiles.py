"""What rounds of each profile begin with, and what is kept between them: answers of models, first costs, prices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from cost_models.interface import Int64
from firmament.core.few_tasks.first_costs import FirstCosts
from firmament.core.queue.profiles import BASE
from firmament.core.rules.tree_groups.compilation import MachineTrees
from firmament.core.scoring.kept_rows import KeptRows
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.snapshot.price_memory import PriceMemory
from firmament.core.state.cluster import Cluster


@dataclass(frozen=True, slots=True)
class PlacementProfile:
    """A profile of one cluster."""

    context: RoundContext
    """What its rounds begin with."""
    kept_rows: KeptRows
    """Answers of its models."""
    first_costs: FirstCosts
    """What a first task costs by these."""
    prices: PriceMemory = field(default_factory=PriceMemory)
    """Prices that its rounds have found."""


class Profiles:
    """The profiles of one cluster by name; `BASE` is the one of all tasks that name none.

    They share the cluster and what is about no model: filters, reservations and evictions under way.
    """

    def __init__(self, context: RoundContext, kept_rows: KeptRows, first_costs: FirstCosts) -> None:
        """``context``: of the profile `BASE`; its configuration has those of the others. Rows over machines are kept in
        ``kept_rows`` and ``first_costs``, those of others for clusters of the same size.
        """
        base = replace(context, kept_rows=kept_rows)
        self._by_name = {BASE: PlacementProfile(base, kept_rows, first_costs)}
        for name, each in context.configuration.profiles.items():
            kept = KeptRows(least_machines=kept_rows.least_machines)
            own = replace(context, configuration=each, trees=MachineTrees(), kept_rows=kept)
            self._by_name[name] = PlacementProfile(own, kept, FirstCosts(first_costs.least_machines))

    def __getitem__(self, name: str) -> PlacementProfile:
        """The profile of this name, `BASE` if none is called so."""
        return self._by_name.get(name) or self._by_name[BASE]

    def divide(self, cluster: Cluster, rows: Iterable[int]) -> list[list[int]]:
        """Return tasks (rows) by profile, in order of its name; those of a profile in the order given."""
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

    def rest(self) -> None:
        """Give back memory that only makes rounds faster."""
        for each in self._by_name.values():
            each.kept_rows.clear()
            each.first_costs.clear()

    def renumber_shapes(self, new_row: Int64) -> None:
        """Move shapes to new rows: ``new_row[old]``, int64[S], -1 for those that are gone."""
        for each in self._by_name.values():
            each.kept_rows.renumber(new_row)
            each.first_costs.clear()
            each.prices.renumber(new_row)
