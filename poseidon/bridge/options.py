"""What a bridge is to do."""

from __future__ import annotations

from dataclasses import dataclass, field

from poseidon.bridge.solver_stream.session import SessionOptions
from poseidon.bridge.watched_pods import ANY_SCHEDULER
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.environment import ReflectorOptions
from poseidon.kube.write.binder import BinderOptions
from poseidon.kube.write.workqueue import WriteBehindOptions


@dataclass(frozen=True, slots=True)
class BridgeOptions:
    """What a bridge is to do, by its configuration and besides.

    ``firmament`` are the addresses of solvers, any of which will do. ``needs``: what the solver's models look at, in
    the words of ``Welcome``. ``conditions`` of pods that stay pending are waited for by autoscalers: some are written
    also while bindings go on. ``cluster`` is the name under which the solver keeps this cluster's state, for a
    ``dry_run`` one of its own, which the solver forgets afterwards; ``fencing`` is a number larger than that of any
    earlier driver, ``instance`` the name of this process in events. Drain times are in seconds.
    """

    firmament: tuple[str, ...]
    configuration: BridgeConfiguration = field(default_factory=BridgeConfiguration)
    needs: frozenset[str] = frozenset()
    cluster: str = "default"
    fencing: int = 1
    client: str = "poseidon"
    instance: str = "poseidon"
    dry_run: bool = False
    drain_bindings_seconds: float = 10.0
    drain_reports_seconds: float = 3.0
    drain_writes_seconds: float = 2.0
    reflector: ReflectorOptions = field(default_factory=ReflectorOptions)
    binder: BinderOptions = field(default_factory=BinderOptions)
    session: SessionOptions = field(default_factory=SessionOptions)
    writes: WriteBehindOptions = field(default_factory=WriteBehindOptions)
    conditions: WriteBehindOptions = field(default_factory=lambda: WriteBehindOptions(patience=1.0, late=8))

    @property
    def component(self) -> str:
        """Under which name events are written."""
        names = self.configuration.scheduler_names
        return next((name for name in names if name != ANY_SCHEDULER), "poseidon")


def describe(options: BridgeOptions, server: str) -> dict[str, str]:
    """Return what a bridge is about to do, as pairs for its log."""
    return {
        "apiserver": server,
        "firmament": ",".join(options.firmament),
        "cluster": options.cluster,
        "schedulerNames": ",".join(options.configuration.scheduler_names),
        "dryRun": str(options.dry_run).lower(),
    }
