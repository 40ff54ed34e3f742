"""Enforces quotas: a task of a queue is placed only if the queue's quota, and all quotas above it, have enough left."""

from __future__ import annotations

from collections.abc import Sequence

from cost_models.interface import Int64, JointRows
from firmament.core.constraints.quota_terms import QuotaTerms
from firmament.core.model import TaskClass
from firmament.core.rules.framework.limit_rule import LimitRule, RoundDemand
from firmament.core.rules.quotas.compilation import compile_quotas
from firmament.core.rules.quotas.stated_quotas import QUEUE, read_stated_quotas
from firmament.core.state.cluster import Cluster


class Quotas(LimitRule):
    """Limits what all tasks of one queue take together, on whichever machines they are."""

    name = "Quotas"
    for_tasks_with = QUEUE
    asked_again = False

    def limit(self, cluster: Cluster, demand: RoundDemand, free: Int64) -> tuple[Int64, Sequence[JointRows]]:  # noqa: ARG002
        """Return no joint rows, because quotas limit queues, not machines."""
        return free, ()

    def find_quotas(self, cluster: Cluster, demand: RoundDemand) -> QuotaTerms | None:
        """Return all quotas if a shape of the round draws on some quota; None otherwise."""
        return compile_quotas(cluster, demand.shapes, demand.without)

    def get_pool(self, cluster: Cluster, content: TaskClass) -> str:
        """Return the name of the quota at the top of the tree that a class uses; "" if it uses none."""
        return read_stated_quotas(cluster).root_of(content.queue) if content.queue else ""
