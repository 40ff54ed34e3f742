"""The books of the bridge, each about one thing, and how they are wired together."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from poseidon.batch.groups import Groups
from poseidon.bridge.announcements import COUNTS_SECONDS, Announcements
from poseidon.bridge.custom_records import CustomRecords
from poseidon.bridge.eviction_rate import EvictionRate
from poseidon.bridge.eviction_review import EvictionReview
from poseidon.bridge.evictions import Evictions
from poseidon.bridge.fitness import Fitness
from poseidon.bridge.gang_view import GangView
from poseidon.bridge.gangs import GANG_SECONDS, Gangs
from poseidon.bridge.jobs import Jobs
from poseidon.bridge.machines import Machines
from poseidon.bridge.namespaces import Namespaces
from poseidon.bridge.nominations import Nominations
from poseidon.bridge.occupancy import Occupancy
from poseidon.bridge.outages import Outages
from poseidon.bridge.placements import Placements
from poseidon.bridge.refusals import Refusals
from poseidon.bridge.refused import RefusedPods
from poseidon.bridge.spreading import Spreading
from poseidon.bridge.storage import Storage
from poseidon.bridge.tasks import Tasks
from poseidon.kube.evictor import EvictionLimits
from poseidon.kube.pod_recovery import RecoveryOptions
from poseidon.kube.quarantine import Quarantine
from poseidon.network.book import NetworkBook
from poseidon.network.options import NetworkOptions
from poseidon.sources.book import SampleBook
from poseidon.sources.utilisation import SOURCES
from poseidon.topology.options import TopologyOptions
from poseidon.translate.classes import ClassTable
from poseidon.translate.daemon_sets import DaemonSets
from poseidon.translate.history import RuntimeHistory
from poseidon.translate.node_images import NodeImages
from poseidon.translate.visibility import visible_to
from poseidon.volumes.state import BIND_SECONDS, VolumeState


@dataclass(frozen=True, slots=True)
class StateOptions:
    """What the state of a bridge is to look at, and how patient it is.

    ``policy`` is the solver's base policy ("": unknown), ``overlays`` are its overlays: what they look at tells pods
    apart. ``volume_seconds`` is how long binding a pod's claims may take, ``counts_seconds`` how long the counts in
    what is said of a pending pod may be out of date, ``gang_seconds`` how long a gang may take to be whole.
    ``default_spread``: pods of one owner or service are to be kept apart by default.
    """

    policy: str = ""
    overlays: Collection[str] = ()
    volume_seconds: float = BIND_SECONDS
    counts_seconds: float = COUNTS_SECONDS
    recovery: RecoveryOptions = field(default_factory=RecoveryOptions)
    network: NetworkOptions = field(default_factory=NetworkOptions)
    fair_share: bool = False
    gang_seconds: float = GANG_SECONDS
    topology: TopologyOptions = field(default_factory=TopologyOptions)
    evictions: EvictionLimits = field(default_factory=EvictionLimits)
    default_spread: bool = False


@dataclass(frozen=True, slots=True)
class Books:
    """All books. ``applications`` is None if nobody looks at applications and networks.

    ``quarantine`` takes what cannot be dealt with.
    """

    classes: ClassTable
    daemon_sets: DaemonSets
    machines: Machines
    namespaces: Namespaces
    tasks: Tasks
    jobs: Jobs
    gangs: Gangs
    occupancy: Occupancy
    fitness: Fitness
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


def open_books(
    options: StateOptions, clock: Callable[[], float], wall: Callable[[], float], quarantine: Quarantine
) -> Books:
    """Return empty books. ``clock`` is monotonic, ``wall`` tells seconds since the epoch."""
    daemon_sets = DaemonSets()
    classes = _class_table(options, daemon_sets)
    machines, occupancy, jobs = Machines(), Occupancy(), Jobs()
    volumes = VolumeState(options.volume_seconds, quarantine)
    fitness = Fitness(machines, occupancy, classes)
    tasks = Tasks(machines, occupancy, fitness, volumes.move_pod)
    announcements = Announcements(tasks, clock, options.counts_seconds)
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
        tasks, machines, fitness, volumes, announcements, evictions, refusals, clock, nominations, quarantine
    )
    return Books(
        classes=classes,
        daemon_sets=daemon_sets,
        machines=machines,
        namespaces=Namespaces(),
        tasks=tasks,
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
        occupancy=occupancy,
        fitness=fitness,
        placements=placements,
        outages=Outages(tasks, announcements, clock),
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
    """Classes that show what the configured models look at."""
    visible = visible_to(
        options.policy,
        options.overlays,
        bandwidth=options.network.annotations,
        namespaces=options.fair_share,
    )
    return ClassTable(visible, daemon_sets.owns)
