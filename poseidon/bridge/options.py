"""Options of a bridge."""

from __future__ import annotations

from dataclasses import dataclass, field

from poseidon.bridge.solver_stream.session import SessionOptions
from poseidon.bridge.watched_pods import ANY_SCHEDULER
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.environment import ReflectorOptions
from poseidon.kube.write.binder import BinderOptions
from poseidon.kube.write.write_retries import WriteBehindOptions


@dataclass(frozen=True, slots=True)
class BridgeOptions:
    """Options of a bridge, from its configuration and its surroundings."""

    firmament: tuple[str, ...]
    """Addresses of solvers; any of them will do."""
    configuration: BridgeConfiguration = field(default_factory=BridgeConfiguration)
    """The bridge's part of the configuration file."""
    needs: frozenset[str] = frozenset()
    """The data that the solver's models read, in the words of ``Welcome``."""
    cluster: str = "default"
    """Name under which the solver keeps this cluster's state."""
    fencing: int = 1
    """Number that must be larger than that of any earlier driver."""
    client: str = "poseidon"
    """Name by which the solver knows this driver."""
    instance: str = "poseidon"
    """Name of this process in events."""
    dry_run: bool = False
    """Whether to write nothing. The solver then keeps a state of its own, and forgets it afterwards."""
    drain_bindings_seconds: float = 10.0
    """Longest wait for bindings in flight at the end."""
    drain_reports_seconds: float = 3.0
    """Longest wait for reports to reach the solver at the end."""
    drain_writes_seconds: float = 2.0
    """Longest wait for other writes at the end."""
    reflector: ReflectorOptions = field(default_factory=ReflectorOptions)
    """Sizes and times of reflectors."""
    binder: BinderOptions = field(default_factory=BinderOptions)
    """Limits of bindings."""
    session: SessionOptions = field(default_factory=SessionOptions)
    """Sizes and times of the stream to the solver."""
    writes: WriteBehindOptions = field(default_factory=WriteBehindOptions)
    """Limits of the queues of events, statuses and other writes."""
    conditions: WriteBehindOptions = field(default_factory=lambda: WriteBehindOptions(patience=1.0, late=8))
    """Limits of the queue of conditions of pending pods. Autoscalers wait for these, so some are written
    during bindings.
    """

    @property
    def component(self) -> str:
        """The name under which events are written."""
        names = self.configuration.scheduler_names
        return next((name for name in names if name != ANY_SCHEDULER), "poseidon")


def describe(options: BridgeOptions, server: str) -> dict[str, str]:
    """Return what a bridge is about to do, as pairs of name and value for its log."""
    return {
        "apiserver": server,
        "firmament": ",".join(options.firmament),
        "cluster": options.cluster,
        "schedulerNames": ",".join(options.configuration.scheduler_names),
        "dryRun": str(options.dry_run).lower(),
    }
