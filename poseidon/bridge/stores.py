"""The books of the bridge, each about one thing, and how they are wired together."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from poseidon.app_network.options import NetworkOptions
from poseidon.app_network.state import NetworkBook
from poseidon.bridge.groups.gangs import GANG_SECONDS, Gangs
from poseidon.custom_records import CustomRecords
from poseidon.group_trees.spec.options import TopologyOptions
from poseidon.kube.watch.quarantine import Quarantine
from poseidon.kube.write.evictor import EvictionLimits
from poseidon.kube.write.pod_recovery import RecoveryOptions
from poseidon.lifecycle.bind_check import BindCheck
from poseidon.lifecycle.binding.claims import Storage
from poseidon.lifecycle.binding.nominations import Nominations
from poseidon.lifecycle.binding.placements import Placements
from poseidon.lifecycle.evictions.gang_view import GangView
from poseidon.lifecycle.evictions.rate import EvictionRate
from poseidon.lifecycle.evictions.review import EvictionReview
from poseidon.lifecycle.evictions.under_way import Evictions
from poseidon.lifecycle.jobs import Jobs
from poseidon.lifecycle.outages import Outages
from poseidon.lifecycle.pending_reasons import COUNTS_SECONDS, PendingReasons
from poseidon.lifecycle.pods import Tasks
from poseidon.lifecycle.recovery import RefusedPods
from poseidon.lifecycle.refusals import Refusals
from poseidon.lifecycle.requested import Requested
from poseidon.lifecycle.stories import Stories
from poseidon.metrics_sources.all_sources import SOURCES
from poseidon.metrics_sources.samples import SampleBook
from poseidon.nodes.images import NodeImages
from poseidon.nodes.machines import Machines
from poseidon.nodes.namespaces import Namespaces
from poseidon.pod_groups.groups import Groups
from poseidon.pod_rules.default_spread import Spreading
from poseidon.pods.classes import ClassTable
from poseidon.pods.daemon_sets import DaemonSets
from poseidon.pods.runtime_history import RuntimeHistory
from poseidon.pods.visibility import visible_to
from poseidon.volumes.state import BIND_SECONDS, VolumeState


@dataclass(frozen=True, slots=True)
class StateOptions:
    """What the state of a bridge is to look at, and how patient it is.

    ``needs``: what the solver's models look at, in the words of ``Welcome``; it tells pods apart. ``volume_seconds``
    is how long binding a pod's claims may take, ``counts_seconds`` how long the counts in what is said of a pending
    pod may be out of date, ``gang_seconds`` how long a gang may take to be whole.
    ``default_spread``: pods of one owner or service are to be kept apart by default.
    """

    needs: Collection[str] = ()
    volume_seconds: float = BIND_SECONDS
    counts_seconds: float = COUNTS_SECONDS
    recovery: RecoveryOptions = field(default_factory=RecoveryOptions)
    network: NetworkOptions = field(default_factory=NetworkOptions)
    gang_seconds: float = GANG_SECONDS
    topology: TopologyOptions = field(default_factory=TopologyOptions)
    evictions: EvictionLimits = field(default_factory=EvictionLimits)
    default_spread: bool = False


@dataclass(frozen=True, slots=True)
class Stores:
    """All books. ``applications`` is None if nobody looks at applications and networks.

    ``quarantine`` takes what cannot be dealt with.
    """

    classes: ClassTable
    daemon_sets: DaemonSets
    machines: Machines
    namespaces: Namespaces
    tasks: Tasks
    stories: Stories
    jobs: Jobs
    gangs: Gangs
    requested: Requested
    bind_check: BindCheck
    placements: Placements
    outages: Outages
    storage: Storage
    volumes: VolumeState
    images: NodeImages
    history: RuntimeHistory
    refused: RefusedPods
    refusals: Refusals
    spreading: Spreading
    samples: SampleBook
    custom_records: CustomRecords
    nominations: Nominations
    applications: NetworkBook | None
    quarantine: Quarantine


def open_stores(
    options: StateOptions,
    clock: Callable[[], float],
    wall: Callable[[], float],
    quarantine: Quarantine,
    stories: Stories,
) -> Stores:
    """Return empty books. ``clock`` is monotonic, ``wall`` tells seconds since the epoch."""
    daemon_sets = DaemonSets()
    classes = _class_table(options, daemon_sets)
    machines, requested, jobs = Machines(), Requested(), Jobs()
    volumes = VolumeState(options.volume_seconds, quarantine)
    bind_check = BindCheck(machines, requested, classes)
    tasks = Tasks(machines, requested, bind_check, volumes.move_pod, stories)
    pending_reasons = PendingReasons(tasks, clock, options.counts_seconds)
    groups, refusals = Groups(quarantine), Refusals()
    review = EvictionReview(
        tasks,
        GangView(groups, jobs, tasks),
        EvictionRate(options.evictions, clock),
        lambda record: not classes.message(record.task.task_class).never_preempts,
    )
    evictions = Evictions(tasks, review, refusals)
    custom_records = CustomRecords()
    nominations = Nominations(custom_records)
    placements = Placements(
        tasks,
        machines,
        bind_check,
        volumes,
        pending_reasons,
        evictions,
        refusals,
        clock,
        nominations,
        quarantine,
    )
    return Stores(
        classes=classes,
        daemon_sets=daemon_sets,
        machines=machines,
        namespaces=Namespaces(),
        tasks=tasks,
        stories=stories,
        jobs=jobs,
        gangs=Gangs(
            groups,
            tasks,
            jobs,
            placements,
            machines,
            wall,
            options.topology,
            options.gang_seconds,
            quarantine=quarantine,
        ),
        requested=requested,
        bind_check=bind_check,
        placements=placements,
        outages=Outages(tasks, pending_reasons, clock),
        storage=Storage(volumes, tasks, machines, placements, classes, clock, quarantine),
        volumes=volumes,
        images=NodeImages(),
        history=RuntimeHistory(),
        refused=RefusedPods(options.recovery),
        refusals=refusals,
        spreading=Spreading(enabled=options.default_spread),
        samples=SampleBook(SOURCES),
        custom_records=custom_records,
        nominations=nominations,
        applications=NetworkBook(options.network, quarantine) if options.network.follows else None,
        quarantine=quarantine,
    )


def _class_table(options: StateOptions, daemon_sets: DaemonSets) -> ClassTable:
    """Classes that show what the solver's models look at."""
    return ClassTable(visible_to(options.needs, bandwidth=options.network.annotations), daemon_sets.owns)
