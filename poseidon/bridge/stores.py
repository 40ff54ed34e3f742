"""Creates the stores of the bridge, each for one subject, and connects them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from poseidon.app_network.options import NetworkArguments
from poseidon.app_network.state import NetworkState
from poseidon.bridge.groups.gangs import GangAssigner
from poseidon.bridge.groups.topology_reports import TopologyRecords
from poseidon.bridge.suspended.resumptions import Resumptions
from poseidon.configuration.document import BridgeConfiguration
from poseidon.custom_records import CustomRecords
from poseidon.devices.extended_resources import ExtendedResources
from poseidon.devices.records import FEATURES_RECORD, encode_features
from poseidon.devices.shared_gpus import SharedGpus
from poseidon.devices.sharing.systems import SYSTEMS
from poseidon.devices.state import DeviceState
from poseidon.group_trees.spec.trees import TreeArguments, models_need_trees
from poseidon.kube.quarantine import Quarantine
from poseidon.lifecycle.actions import Action
from poseidon.lifecycle.bind_check import BindCheck, Requested
from poseidon.lifecycle.device_effects import DeviceEffects
from poseidon.lifecycle.evictions.evictions import Evictions
from poseidon.lifecycle.evictions.rate import EvictionRate
from poseidon.lifecycle.evictions.review import EvictionReview, GangView
from poseidon.lifecycle.failed_scheduling_timing import PendingReasons
from poseidon.lifecycle.jobs import Jobs
from poseidon.lifecycle.kept_places import KeptPlaces, MoveOptions
from poseidon.lifecycle.nominated_node_names import Nominations
from poseidon.lifecycle.pending_bindings import PendingBindings
from poseidon.lifecycle.phases import PodRecord, Stories
from poseidon.lifecycle.placements import Placements
from poseidon.lifecycle.pod_records import PodRecords
from poseidon.lifecycle.refused_deltas import Refusals
from poseidon.lifecycle.refused_pods import RefusedPods
from poseidon.lifecycle.restart_room import RestartRoomRecords
from poseidon.lifecycle.volume_effects import VolumeEffects
from poseidon.metrics_sources.samples import SOURCES, LatestSamples
from poseidon.namespaces import Namespaces
from poseidon.nodes.hyper_nodes import HyperNodes
from poseidon.nodes.images import NodeImages
from poseidon.nodes.machines import Machines
from poseidon.nodes.topology_labels import TopologyLabels
from poseidon.pod_groups.groups import Groups
from poseidon.pod_rules.default_spread import Spreading
from poseidon.pods.classes import ClassTable
from poseidon.pods.daemon_sets import DaemonSets
from poseidon.pods.learnt_run_times import RuntimeHistory
from poseidon.pods.priority_classes import PriorityResolver
from poseidon.pods.visibility import visible_to
from poseidon.queues.known_queues import KnownQueues
from poseidon.volumes.state import VolumeState
from protos.configuration.shared_sections import GangSection


class Stores:
    """All stores of the bridge, empty at first.

    ``needs`` are the data that the solver's cost models read, as named in the protocol's message ``Welcome``.
    ``applications`` is None if no cost model reads applications and networks. The solver gets ``first_records`` before
    tasks, ``custom_records`` after them. ``actions`` wait to be carried out. ``quarantine`` records objects that could
    not be handled. ``clock`` is monotonic, ``wall`` returns seconds since the epoch.
    """

    def __init__(
        self,
        configuration: BridgeConfiguration,
        needs: Collection[str],
        clock: Callable[[], float],
        wall: Callable[[], float],
        quarantine: Quarantine,
        stories: Stories,
    ) -> None:
        network, queues = configuration.network, configuration.queues
        visibility = visible_to(needs, bandwidth=network.bandwidth_annotations)
        self.quarantine, self.stories = quarantine, stories
        self.actions = list[Action]()
        self.first_records, self.custom_records = CustomRecords(), CustomRecords()
        self.namespaces, self.history = Namespaces(self.first_records), RuntimeHistory()
        self.samples, self.images = LatestSamples(SOURCES), NodeImages()
        self.spreading = Spreading(enabled=configuration.pod_topology_spread.enabled)
        self.daemon_sets = DaemonSets()
        self.classes = ClassTable(visibility, self.daemon_sets.owns)
        self.machines, self.requested, self.hyper_nodes = Machines(), Requested(), HyperNodes()
        self.topology_labels = TopologyLabels()
        self.priorities = PriorityResolver()
        self.jobs, self.groups = Jobs(), Groups(quarantine, self.priorities)
        self.volumes = VolumeState(configuration.volumes, quarantine)
        self.devices = DeviceState(configuration.devices, clock, wall)
        features = encode_features(configuration.devices.disabled_features)
        self.first_records.set_record(FEATURES_RECORD, "devices", features)
        enabled = "DRAExtendedResource" not in configuration.devices.disabled_features
        self.extended_resources = ExtendedResources(
            self.devices, self.machines.list_offering, enabled=enabled
        )
        self.shared_gpus: SharedGpus | None = None
        for name in configuration.devices.sharing:
            self.shared_gpus = SharedGpus(SYSTEMS[name], self.first_records, self.devices, wall)
        self.bind_check = BindCheck(self.machines, self.requested, self.classes)
        self.tasks = PodRecords(self.machines, self.requested, self.bind_check, stories)
        self.refused_pods = RefusedPods(configuration.recovery, self.actions)
        self.pending_reasons = PendingReasons(self.tasks, self.actions, clock, configuration.announcements)
        self._connect_bindings(configuration.moves, EvictionRate(configuration.evictions, clock), clock, wall)
        self._connect_claims(clock)
        topology = TopologyRecords(self.first_records, wanted=models_need_trees(visibility.records))
        self._connect_gangs(topology, configuration.gangs, configuration.arguments(TreeArguments), wall)
        self.queues = KnownQueues(queues, self.first_records, quarantine) if queues.source else None
        self.resumptions: Resumptions | None = None
        if self.queues is not None:
            self.groups.find_owner_gang = self.queues.find_gang
            self.groups.find_topologies = self.queues.find_topologies
            if self.queues.looks_at_owners:
                self.resumptions = Resumptions(
                    self.tasks, self.placements, self.machines, self.groups, self.queues, clock
                )
        arguments, follows = configuration.arguments(NetworkArguments), network.follows(visibility.records)
        self.applications = NetworkState(network, arguments, quarantine) if follows else None

    def _connect_bindings(
        self, moves: MoveOptions, rate: EvictionRate, clock: Callable[[], float], wall: Callable[[], float]
    ) -> None:
        """Create the stores that decide on bindings and evictions, and connect them."""
        self.refusals = Refusals()
        self.nominations = Nominations(self.custom_records, self.actions)
        self.kept_places = KeptPlaces(moves, self.custom_records, wall) if moves.keep_places else None
        self.pending_bindings = PendingBindings(
            self.tasks,
            self.volumes,
            self.devices,
            self.pending_reasons,
            self.nominations,
            self.actions,
            clock,
        )
        review = EvictionReview(
            self.tasks,
            GangView(self.groups, self.jobs, self.tasks),
            rate,
            self._evicts,
            self._takes_quota,
        )
        self.placements = Placements(
            self.tasks,
            self.machines,
            self.bind_check,
            self.volumes,
            self.devices,
            self.pending_bindings,
            self.pending_reasons,
            Evictions(self.tasks, review, self.refusals, self.actions),
            self.refusals,
            self.actions,
            self.quarantine,
        )

    def _connect_claims(self, clock: Callable[[], float]) -> None:
        """Create the stores that apply claims of volumes and devices to pods."""
        self.volume_effects = VolumeEffects(
            self.volumes,
            self.tasks,
            self.machines,
            self.placements,
            self.pending_reasons,
            self.classes,
            self.actions,
            clock,
            self.quarantine,
        )
        self.device_effects = DeviceEffects(
            self.devices,
            self.tasks,
            self.first_records,
            self.placements,
            self.pending_reasons,
            self.classes,
            self.actions,
            self.quarantine,
        )

    def _connect_gangs(
        self,
        topology: TopologyRecords,
        options: GangSection,
        arguments: TreeArguments,
        wall: Callable[[], float],
    ) -> None:
        """Create the stores that apply groups to pods."""
        self.gangs = GangAssigner(
            self.groups,
            self.tasks,
            self.jobs,
            self.placements,
            self.pending_reasons,
            self.machines,
            self.classes,
            topology,
            self.actions,
            wall,
            options,
            arguments,
            self.quarantine,
        )
        self.restart_rooms = RestartRoomRecords(
            options.keep_room,
            options.keep_room_at_most,
            self.groups,
            self.classes,
            self.machines,
            self.first_records,
            wall,
        )

    def _takes_quota(self, preemptor: PodRecord, victim: PodRecord) -> bool:
        """Return whether ``victim`` may be evicted so that ``preemptor`` gets the quota that the victim uses."""
        if self.queues is None:
            return False
        its, theirs = (self.classes.message(each.task.task_class).queue for each in (preemptor, victim))
        return self.queues.allows_eviction(its, theirs, preemptor.task.priority - victim.task.priority)

    def _evicts(self, record: PodRecord) -> bool:
        """Return whether the scheduler may evict other pods for this pod."""
        return not self.classes.message(record.task.task_class).never_preempts
