"""The books of the bridge, each about one thing, and how they are wired together."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from poseidon.app_network.options import NetworkArguments
from poseidon.app_network.state import NetworkBook
from poseidon.bridge.groups.gangs import Gangs
from poseidon.configuration.document import BridgeConfiguration
from poseidon.custom_records import CustomRecords
from poseidon.group_trees.spec.trees import TreeArguments, trees_are_read
from poseidon.kube.watch.quarantine import Quarantine
from poseidon.lifecycle.bind_check import BindCheck
from poseidon.lifecycle.binding.claims import Storage
from poseidon.lifecycle.binding.nominations import Nominations
from poseidon.lifecycle.binding.placements import Placements
from poseidon.lifecycle.evictions.gang_view import GangView
from poseidon.lifecycle.evictions.rate import EvictionRate
from poseidon.lifecycle.evictions.review import EvictionReview
from poseidon.lifecycle.evictions.under_way import Evictions
from poseidon.lifecycle.jobs import Jobs
from poseidon.lifecycle.kept_places import KeptPlaces
from poseidon.lifecycle.outages import Outages
from poseidon.lifecycle.pending_reasons import PendingReasons
from poseidon.lifecycle.pods import Tasks
from poseidon.lifecycle.recovery import RefusedPods
from poseidon.lifecycle.refusals import Refusals
from poseidon.lifecycle.requested import Requested
from poseidon.lifecycle.stories import Stories
from poseidon.metrics_sources.samples import SOURCES, SampleBook
from poseidon.nodes.images import NodeImages
from poseidon.nodes.machines import Machines
from poseidon.nodes.namespaces import Namespaces
from poseidon.pod_groups.groups import Groups
from poseidon.pod_rules.default_spread import Spreading
from poseidon.pods.classes import ClassTable
from poseidon.pods.daemon_sets import DaemonSets
from poseidon.pods.runtime_history import RuntimeHistory
from poseidon.pods.visibility import visible_to
from poseidon.volumes.state import VolumeState


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
    kept_places: KeptPlaces
    applications: NetworkBook | None
    quarantine: Quarantine


def open_stores(
    configuration: BridgeConfiguration,
    needs: Collection[str],
    clock: Callable[[], float],
    wall: Callable[[], float],
    quarantine: Quarantine,
    stories: Stories,
) -> Stores:
    """Return empty books. ``needs``: what the solver's models look at, in the words of ``Welcome``.

    ``clock`` is monotonic, ``wall`` tells seconds since the epoch.
    """
    daemon_sets, network = DaemonSets(), configuration.network
    visibility = visible_to(needs, bandwidth=network.bandwidth_annotations)
    classes = ClassTable(visibility, daemon_sets.owns)
    machines, requested, jobs = Machines(), Requested(), Jobs()
    volumes = VolumeState(configuration.volumes, quarantine)
    bind_check = BindCheck(machines, requested, classes)
    tasks = Tasks(machines, requested, bind_check, volumes.move_pod, stories)
    pending_reasons = PendingReasons(tasks, clock, configuration.announcements)
    groups, refusals = Groups(quarantine), Refusals()
    review = EvictionReview(
        tasks,
        GangView(groups, jobs, tasks),
        EvictionRate(configuration.evictions, clock),
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
            classes,
            wall,
            configuration.gangs,
            configuration.arguments(TreeArguments),
            tree_is_read=trees_are_read(visibility.records),
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
        refused=RefusedPods(configuration.recovery),
        refusals=refusals,
        spreading=Spreading(enabled=configuration.pod_topology_spread.enabled),
        samples=SampleBook(SOURCES),
        custom_records=custom_records,
        nominations=nominations,
        kept_places=KeptPlaces(configuration.moves, custom_records, wall),
        applications=NetworkBook(network, configuration.arguments(NetworkArguments), quarantine)
        if network.follows(visibility.records)
        else None,
        quarantine=quarantine,
    )
