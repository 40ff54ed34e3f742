"""Plans manifests, and explains single pods afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from poseidon.offline.cluster import OfflineCluster
from poseidon.offline.plan import Plan, schedule_pods
from poseidon.ui.work.inputs import ClusterInput, build_cluster, read
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from poseidon.embedding import EmbeddedScheduler
    from poseidon.kube.api.devices import ResourceClaim

_MOST_FLOWS = 20


@dataclass(frozen=True, slots=True)
class PlannedCluster:
    """The result of a plan, in a form that can be sent between processes.

    ``bindings`` has nodes by uid, ``pending`` has reasons by uid, and ``preempted`` has (uid, node, preemptor).
    ``flows`` has the flow of each round with tasks, as messages of the protocol. ``claims`` are the device claims
    after the plan; ``warnings`` are lines for people.
    """

    bindings: dict[str, str]
    pending: dict[str, str]
    preempted: tuple[tuple[str, str, str], ...]
    flows: tuple[bytes, ...]
    claims: tuple[ResourceClaim, ...]
    warnings: tuple[str, ...]


@dataclass(slots=True)
class _Recorded(OfflineCluster):
    """A cluster that keeps the flows of its rounds."""

    flows: dict[int, bytes] = field(default_factory=dict)

    def run_round(self) -> pb.RoundResult:
        """Run a round and keep its flow."""
        result = OfflineCluster.run_round(self)
        flow = self.scheduler.round_flow()
        if flow.round and len(self.flows) < _MOST_FLOWS:
            self.flows.setdefault(flow.round, flow.SerializeToString())
        return result


def plan_cluster(given: ClusterInput) -> PlannedCluster:
    """Plan a cluster, and return the plan with the flows of its rounds."""
    cluster, plan = run_plan(given)
    return PlannedCluster(
        bindings={each.pod: each.node for each in plan.bindings},
        pending={each.pod: each.reason for each in plan.pending},
        preempted=tuple((each.pod, each.node, each.preemptor) for each in plan.preemptions),
        flows=tuple(cluster.flows.values()),
        claims=cluster.state.devices.list_claims(),
        warnings=plan.warnings,
    )


def explain_pod(given: ClusterInput, uid: str) -> bytes | None:
    """Explain a pod as if the plan had been carried out.

    The function returns the encoded message, or None for a pod that takes no part.
    """
    scheduler: EmbeddedScheduler = run_plan(given)[0].scheduler
    try:
        return scheduler.explain(uid).SerializeToString()
    except KeyError:
        return None


@lru_cache(maxsize=1)
def run_plan(given: ClusterInput) -> tuple[_Recorded, Plan]:
    """Plan manifests once per process; return the plan, and the cluster as it is after the plan.

    Callers must not change the cluster.
    """
    found = read(given)
    plain = build_cluster(found)
    parts: dict[str, Any] = {each.name: getattr(plain, each.name) for each in fields(plain) if each.init}
    cluster = _Recorded(**parts)
    return cluster, schedule_pods(cluster, found.manifests)
