"""The solver inside this process: the one module of poseidon that imports firmament, and only on use.

Everything passes through the messages of the protocol, as between the two processes, so that offline commands
exercise the same translation as the bridge.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from poseidon.app_network.options import NetworkOptions
    from poseidon.group_trees.spec.options import TopologyOptions
    from poseidon.kube.write.evictor import EvictionLimits
    from poseidon.kube.write.pod_recovery import RecoveryOptions
    from poseidon.metrics_sources.options import UtilisationOptions
    from protos.firmament.v1 import scheduler_pb2 as pb


class ConfigurationError(ValueError):
    """A configuration that cannot be used. ``lines``: one per fault, naming file, field, fault and remedy."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))


class _Argument(NamedTuple):
    described: str
    admits: Callable[[object], bool]


def _is_text(given: object) -> bool:
    return given is None or isinstance(given, str)


def _are_texts(given: object) -> bool:
    return given is None or (isinstance(given, list | tuple) and all(isinstance(each, str) for each in given))


_TEXT, _TEXTS = _Argument("a text", _is_text), _Argument("a list of texts", _are_texts)
_HEEDED: Mapping[str, tuple[str, Mapping[str, _Argument]]] = MappingProxyType(
    {
        "app_network": ("network_overhead", {"namespaces": _TEXTS, "percentile": _TEXT}),
        "group_trees": ("topology", {"topologyConfigMapNameSpace": _TEXT, "nodeLabels": _TEXTS}),
    }
)
"""The arguments of cost models that the bridge heeds, by the subject that they are about."""


class Configuration(Protocol):
    """The scheduler's configuration, as far as poseidon reads it; ``*`` stands for every name."""

    @property
    def scheduler_names(self) -> tuple[str, ...]:
        """Pods of these ``spec.schedulerName`` are ours."""
        ...


def load_configuration(path: Path | None, *, models: bool = True) -> Configuration:
    """Read and check a configuration file, None for the defaults; raises ``ConfigurationError``.

    ``models``: check the models too, which have to be installed here for that.
    """
    from firmament.configuration import document as configuration

    try:
        loaded = configuration.load(path, models=models)
    except configuration.ConfigurationError as error:
        raise ConfigurationError(error.lines) from None
    faults = [f"{path}: {fault}" for fault in _argument_faults(loaded)]
    if faults:
        raise ConfigurationError(faults)
    return loaded


def effective_yaml(configuration: Configuration) -> str:
    """Return the configuration as YAML, with every default filled in."""
    from firmament.configuration.document import SchedulerConfiguration
    from firmament.configuration.document import effective_yaml as render

    assert isinstance(configuration, SchedulerConfiguration)
    return render(configuration)


def model_arguments(configuration: Configuration, subject: str) -> Mapping[str, Any]:
    """Return the arguments of the overlay for which a subject of the bridge is looked after, none without it.

    They say where objects are that only the bridge reads.
    """
    from firmament.configuration.document import SchedulerConfiguration

    assert isinstance(configuration, SchedulerConfiguration)
    name = _HEEDED[subject][0]
    return next((each.args for each in configuration.cost_models if each.name == name), {})


def _argument_faults(configuration: Configuration) -> Iterator[str]:
    """Yield what is wrong with those arguments: overlays, which would refuse them, may not be installed here."""
    for subject, (name, types) in _HEEDED.items():
        given = model_arguments(configuration, subject)
        for key, kind in types.items():
            if not kind.admits(given.get(key)):
                yield f"costModels: {name}: args.{key}: is {given[key]!r}; write {kind.described}"


def recovery_options(configuration: Configuration) -> RecoveryOptions:
    """Return what is done about pods that kubelets refuse."""
    from firmament.configuration.document import SchedulerConfiguration
    from poseidon.kube.write.pod_recovery import RecoveryOptions

    assert isinstance(configuration, SchedulerConfiguration)
    section = configuration.recovery
    return RecoveryOptions(
        recreate_bare=section.recreate_bare_pods,
        max_recreations=section.max_recreations,
        delete_replaced=section.delete_replaced_pods,
    )


def counts_seconds(configuration: Configuration) -> float:
    """Return how long the counts in what is said of a pending pod may be out of date."""
    from firmament.configuration.document import SchedulerConfiguration

    assert isinstance(configuration, SchedulerConfiguration)
    return configuration.announcements.counts_after


def silent_seconds(configuration: Configuration) -> float:
    """Return how long the solver may leave events unacknowledged before the stream to it is given up."""
    from firmament.configuration.document import SchedulerConfiguration

    assert isinstance(configuration, SchedulerConfiguration)
    return configuration.stream.silence_timeout


def spreads_by_default(configuration: Configuration) -> bool:
    """Return whether pods that state no spread constraints get default ones."""
    from firmament.configuration.document import SchedulerConfiguration

    assert isinstance(configuration, SchedulerConfiguration)
    return configuration.pod_topology_spread.enabled


def gang_seconds(configuration: Configuration) -> float:
    """Return how long a gang may take to be whole that does not say so itself."""
    from firmament.configuration.document import SchedulerConfiguration

    assert isinstance(configuration, SchedulerConfiguration)
    return configuration.gangs.timeout


def eviction_limits(configuration: Configuration) -> EvictionLimits:
    """Return how many pods may be told to go in a while."""
    from firmament.configuration.document import SchedulerConfiguration
    from poseidon.kube.write.evictor import EvictionLimits

    assert isinstance(configuration, SchedulerConfiguration)
    return EvictionLimits(configuration.evictions.per_second, configuration.evictions.burst)


def volume_seconds(configuration: Configuration) -> float:
    """Return how long the claims of a pod may take to be bound."""
    from firmament.configuration.document import SchedulerConfiguration

    assert isinstance(configuration, SchedulerConfiguration)
    return configuration.volumes.bind_timeout


def network_options(configuration: Configuration) -> NetworkOptions:
    """Return what is done about applications and networks."""
    from firmament.configuration.document import SchedulerConfiguration
    from poseidon.app_network.options import NetworkOptions

    assert isinstance(configuration, SchedulerConfiguration)
    section = configuration.network
    given = model_arguments(configuration, "app_network")
    return NetworkOptions(
        controllers=None if section.controllers == "auto" else section.controllers == "always",
        namespaces=tuple(given.get("namespaces") or NetworkOptions().namespaces),
        percentile=given.get("percentile") or section.percentile,
        annotations=section.bandwidth_annotations,
    )


def topology_options(configuration: Configuration) -> TopologyOptions:
    """Return what is done about groups that are placed by a tree."""
    from poseidon.group_trees.spec.options import TopologyOptions

    given = model_arguments(configuration, "group_trees")
    return TopologyOptions(
        namespace=given.get("topologyConfigMapNameSpace") or TopologyOptions().namespace,
        node_labels=tuple(given.get("nodeLabels") or ()),
    )


def utilisation_options(configuration: Configuration) -> UtilisationOptions:
    """Return which sources of measured use are on, and how they are asked."""
    from firmament.configuration.document import SchedulerConfiguration
    from poseidon.metrics_sources.options import (
        MetricsServerOptions,
        PrometheusOptions,
        PrometheusQuery,
        UtilisationOptions,
    )

    assert isinstance(configuration, SchedulerConfiguration)
    section = configuration.utilisation
    server, prometheus = section.metrics_server, section.prometheus
    return UtilisationOptions(
        node_metric=section.node_metric == "auto",
        metrics_server=None if server.mode == "off" else MetricsServerOptions(server.interval, server.pods),
        prometheus=None
        if prometheus is None
        else PrometheusOptions(
            url=prometheus.url,
            queries=tuple(
                PrometheusQuery(
                    query=each.query,
                    resource=each.resource,
                    pods=each.of == "pods",
                    statistic=each.statistic or "",
                    window=each.window or 0.0,
                )
                for each in prometheus.queries
            ),
            interval=prometheus.interval,
            timeout=prometheus.timeout,
            token_file=prometheus.token_file,
            ca_file=prometheus.ca_file,
            node_label=prometheus.node_label,
            namespace_label=prometheus.namespace_label,
            pod_label=prometheus.pod_label,
        ),
    )


class EmbeddedScheduler:
    """A scheduler of one cluster in this process, solving with OR-Tools.

    ``clock`` returns seconds since the epoch; rounds are timed by the machine's own. Raises
    ``ConfigurationError`` if a cost model refuses its arguments.
    """

    def __init__(self, configuration: Configuration, clock: Callable[[], float]) -> None:
        from firmament.configuration.document import ConfigurationError as SolverConfigurationError
        from firmament.configuration.document import SchedulerConfiguration, build_core
        from firmament.core.scheduler import Scheduler
        from firmament.solvers.ortools_solver import OrToolsSolver

        assert isinstance(configuration, SchedulerConfiguration)
        try:
            core = build_core(configuration)
        except SolverConfigurationError as error:
            raise ConfigurationError(error.lines) from None
        self._scheduler = Scheduler(
            configuration=core, solver=OrToolsSolver(), clock=clock, timer=time.perf_counter
        )
        self.needs = frozenset(core.words)
        """What the models look at, in the words of ``Welcome``."""
        self.notes: list[str] = []
        """What models have remarked on bad input, each once."""

    def apply(self, events: Iterable[pb.Event]) -> None:
        """Apply events as one step; raises ``ValueError`` for a malformed one, a fault of the translation."""
        from firmament.wire import events_from_proto

        self._scheduler.apply(events_from_proto(events))

    def has_work(self) -> bool:
        """Whether a round now could place something."""
        return self._scheduler.next_round_in() == 0.0

    def run_round(self) -> pb.RoundResult:
        """Run one round; its placements are assumed until they are reported."""
        from firmament.wire import round_to_proto

        result = self._scheduler.run_round()
        self.notes.extend(result.notes)
        return round_to_proto(result)

    def report_bound(self, placed: Iterable[tuple[str, str]]) -> None:
        """Report ``(uid, machine)`` of placements that came true."""
        from firmament.core.events import BindingReport

        self._scheduler.report([BindingReport(uid, machine, bound=True) for uid, machine in placed])

    def explain(self, uid: str) -> pb.Explanation:
        """Return the verdicts on one task; raises ``KeyError`` for an unknown one."""
        from firmament.wire import explanation_to_proto

        explanation = self._scheduler.explain(uid)
        self.notes.extend(note for note in explanation.notes if note not in self.notes)
        return explanation_to_proto(explanation)

    def tasks(self) -> Iterator[pb.TaskState]:
        """Yield every task and where it stands."""
        from firmament.wire import task_state_to_proto

        return map(task_state_to_proto, self._scheduler.task_states())

    def machines(self) -> Iterator[pb.MachineState]:
        """Yield every machine and what is free on it."""
        from firmament.wire import machine_state_to_proto

        return map(machine_state_to_proto, self._scheduler.machine_states())
