"""PodDisruptionBudgets as records, with the labels that they look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.batch.budgets import BUDGET_RECORD, described
from poseidon.bridge.custom_records import CustomResource, Reading
from poseidon.bridge.feeds import BUDGETS
from poseidon.kube.batch_objects import DisruptionBudget

if TYPE_CHECKING:
    from poseidon.translate.classes import ClassTable


def budget_resource(classes: ClassTable) -> CustomResource[DisruptionBudget]:
    """Return how the objects are followed. What their selectors look at comes into ``classes``."""

    def read(found: DisruptionBudget) -> Reading:
        payload, looks, defects = described(found)
        classes.watch(looks)
        name = f"{found.metadata.namespace or 'default'}/{found.metadata.name}"
        return Reading(name, payload, defects)

    return CustomResource(BUDGET_RECORD, (BUDGETS,), read)
