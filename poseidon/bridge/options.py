"""Defines the options of a bridge."""

from __future__ import annotations

from dataclasses import dataclass, field

from poseidon.bridge.solver_stream.session import SessionOptions
from poseidon.bridge.watched_pods import ANY_SCHEDULER
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.watch_options import ReflectorOptions
from poseidon.kube.write.binder import BinderOptions
from poseidon.kube.write.write_retries import WriteBehindOptions


@dataclass(frozen=True, slots=True)
class BridgeOptions:
    """Options of a bridge, from its configuration file and its command line."""

    firmament: tuple[str, ...]
    """Addresses of solvers; the bridge uses any of them."""
    configuration: BridgeConfiguration = field(default_factory=BridgeConfiguration)
    """The bridge's part of the configuration file."""
    needs: frozenset[str] = frozenset()
    """The data that the solver's cost models read, as named in the protocol's message ``Welcome``."""
    cluster: str = "default"
    """Name under which the solver keeps this cluster's state."""
    fencing: int = 1
    """Fencing number: must be larger than that of any earlier driver of the cluster."""
    client: str = "poseidon"
    """Name by which the solver knows this driver."""
    instance: str = "poseidon"
    """Name of this process in events."""
    dry_run: bool = False
    """Whether to write nothing to Kubernetes.

    The solver then keeps a separate state for this bridge, and forgets it afterwards.
    """
    drain_bindings_seconds: float = 10.0
    """Longest wait for bindings in flight when the bridge stops, in seconds."""
    drain_reports_seconds: float = 3.0
    """Longest wait for reports to reach the solver when the bridge stops, in seconds."""
    drain_writes_seconds: float = 2.0
    """Longest wait for other writes when the bridge stops, in seconds."""
    reflector: ReflectorOptions = field(default_factory=ReflectorOptions)
    """Page sizes and times of the reflectors, which list and watch collections."""
    binder: BinderOptions = field(default_factory=BinderOptions)
    """Limits of bindings."""
    session: SessionOptions = field(default_factory=SessionOptions)
    """Sizes and times of the stream to the solver."""
    writes: WriteBehindOptions = field(default_factory=WriteBehindOptions)
    """Limits of the queues of events, statuses and other writes."""
    conditions: WriteBehindOptions = field(default_factory=lambda: WriteBehindOptions(patience=1.0, late=8))
    """Limits of the queue of pending pods' conditions.

    Autoscalers wait for these conditions, so some are written while bindings are under way.
    """

    @property
    def component(self) -> str:
        """The name under which events are written."""
        names = self.configuration.scheduler_names
        return next((name for name in names if name != ANY_SCHEDULER), "poseidon")


def describe(options: BridgeOptions, server: str) -> dict[str, str]:
    """Return a bridge's main options, as names and values for its log."""
    return {
        "apiserver": server,
        "firmament": ",".join(options.firmament),
        "cluster": options.cluster,
        "schedulerNames": ",".join(options.configuration.scheduler_names),
        "dryRun": str(options.dry_run).lower(),
    }
