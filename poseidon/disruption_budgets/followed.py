"""PodDisruptionBudgets as records, with the labels that they look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.custom_records import CustomResource, Reading
from poseidon.disruption_budgets.records import BUDGET_RECORD, described
from poseidon.kube.api.collections import BUDGETS
from poseidon.kube.api.pod_groups import DisruptionBudget

if TYPE_CHECKING:
    from poseidon.pods.classes import ClassTable


def budget_resource(classes: ClassTable) -> CustomResource[DisruptionBudget]:
    """Return how the objects are followed. What their selectors look at comes into ``classes``."""

    def read(found: DisruptionBudget) -> Reading:
        payload, looks, defects = described(found)
        classes.watch(looks)
        name = f"{found.metadata.namespace or 'default'}/{found.metadata.name}"
        return Reading(name, payload, defects)

    return CustomResource(BUDGET_RECORD, (BUDGETS,), read)
