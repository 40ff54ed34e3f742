"""What a bridge is to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Self

from poseidon.app_network.options import NetworkOptions
from poseidon.bridge.groups.gangs import GANG_SECONDS
from poseidon.bridge.solver_stream.session import SessionOptions
from poseidon.bridge.watched_pods import ANY_SCHEDULER
from poseidon.group_trees.spec.options import TopologyOptions
from poseidon.kube.watch.changes import ReflectorOptions
from poseidon.kube.write.binder import BinderOptions
from poseidon.kube.write.evictor import EvictionLimits
from poseidon.kube.write.pod_recovery import RecoveryOptions
from poseidon.kube.write.write_behind import WriteBehindOptions
from poseidon.lifecycle.pending_reasons import COUNTS_SECONDS
from poseidon.metrics_sources.options import UtilisationOptions
from poseidon.pods.visibility import visible_to
from poseidon.volumes.state import BIND_SECONDS


@dataclass(frozen=True, slots=True)
class BridgeOptions:
    """What a bridge is to do.

    ``needs``: what the solver's models look at, in the words of ``Welcome``. ``conditions`` of pods that stay
    pending are waited for by autoscalers: some are written also while bindings go on.
    ``cluster`` is the name under which the solver keeps this cluster's state, for a ``dry_run`` one of its own, which
    the solver forgets afterwards; ``fencing`` is a number larger than that of any earlier driver, ``instance`` the name
    of this process in events. Drain times, and how long binding the claims of a pod may take, are in seconds;
    ``counts_seconds`` is how long the counts in what is said of a pending pod may be out of date, and ``gang_seconds``
    how long a gang may take to be whole. ``default_spread``: pods of one owner or service are kept apart by default.
    """

    firmament: str
    scheduler_names: tuple[str, ...] = ("poseidon",)
    needs: frozenset[str] = frozenset()
    cluster: str = "default"
    fencing: int = 1
    client: str = "poseidon"
    instance: str = "poseidon"
    dry_run: bool = False
    drain_bindings_seconds: float = 10.0
    drain_reports_seconds: float = 3.0
    drain_writes_seconds: float = 5.0
    volume_seconds: float = BIND_SECONDS
    counts_seconds: float = COUNTS_SECONDS
    recovery: RecoveryOptions = field(default_factory=RecoveryOptions)
    reflector: ReflectorOptions = field(default_factory=ReflectorOptions)
    optional_reflector: ReflectorOptions = field(default_factory=lambda: ReflectorOptions(optional=True))
    binder: BinderOptions = field(default_factory=BinderOptions)
    session: SessionOptions = field(default_factory=SessionOptions)
    writes: WriteBehindOptions = field(default_factory=WriteBehindOptions)
    conditions: WriteBehindOptions = field(default_factory=lambda: WriteBehindOptions(patience=1.0, late=8))
    utilisation: UtilisationOptions = field(default_factory=UtilisationOptions)
    network: NetworkOptions = field(default_factory=NetworkOptions)
    gang_seconds: float = GANG_SECONDS
    topology: TopologyOptions = field(default_factory=TopologyOptions)
    evictions: EvictionLimits = field(default_factory=EvictionLimits)
    default_spread: bool = False

    def needing(self, needs: frozenset[str]) -> Self:
        """Return the same for a solver whose models need this."""
        records = visible_to(needs).records
        network, topology = self.network.with_records(records), self.topology.with_records(records)
        return replace(self, needs=needs, network=network, topology=topology)

    @property
    def component(self) -> str:
        """Under which name events are written."""
        return next((name for name in self.scheduler_names if name != ANY_SCHEDULER), "poseidon")


def describe(options: BridgeOptions, server: str) -> Iterable[str]:
    """Yield ``key=value`` pairs that say what a bridge is about to do."""
    yield f"apiserver={server}"
    yield f"firmament={options.firmament}"
    yield f"cluster={options.cluster}"
    yield f"schedulerNames={','.join(options.scheduler_names)}"
    yield f"dryRun={str(options.dry_run).lower()}"
