"""The stores of the bridge, each about one subject, and how they are connected."""

from __future__ import annotations

from collections.abc import Callable, Collection

from poseidon.app_network.options import NetworkArguments
from poseidon.app_network.state import NetworkBook
from poseidon.bridge.groups.gangs import Gangs
from poseidon.bridge.groups.notes import TopologyRecords
from poseidon.configuration.document import BridgeConfiguration
from poseidon.custom_records import CustomRecords
from poseidon.devices.records import FEATURES_RECORD, encode_features
from poseidon.devices.state import DeviceState
from poseidon.group_trees.spec.trees import TreeArguments, trees_are_read
from poseidon.kube.quarantine import Quarantine
from poseidon.lifecycle.actions import Action
from poseidon.lifecycle.bind_check import BindCheck, Requested
from poseidon.lifecycle.device_effects import DeviceEffects
from poseidon.lifecycle.eviction_review import EvictionRate, EvictionReview, GangView
from poseidon.lifecycle.evictions import Evictions
from poseidon.lifecycle.jobs import Jobs
from poseidon.lifecycle.nominations import KeptPlaces, Nominations
from poseidon.lifecycle.pending_bindings import PendingBindings
from poseidon.lifecycle.pending_reasons import PendingReasons
from poseidon.lifecycle.phases import PodRecord, Stories
from poseidon.lifecycle.placements import Placements
from poseidon.lifecycle.pod_records import PodRecords
from poseidon.lifecycle.recovery import RefusedPods
from poseidon.lifecycle.refusals import Refusals
from poseidon.lifecycle.volume_effects import VolumeEffects
from poseidon.metrics_sources.samples import SOURCES, SampleBook
from poseidon.nodes.images import NodeImages
from poseidon.nodes.machines import Machines
from poseidon.nodes.namespaces import Namespaces
from poseidon.pod_groups.groups import Groups
from poseidon.pod_rules.default_spread import Spreading
from poseidon.pods.classes import ClassTable
from poseidon.pods.daemon_sets import DaemonSets
from poseidon.pods.programs import RuntimeHistory
from poseidon.pods.tasks import PriorityResolver
from poseidon.pods.visibility import visible_to
from poseidon.queues.book import QueueBook
from poseidon.volumes.state import VolumeState


class Stores:
    """All stores, empty at first. ``needs``: what the solver's models read, in the words of ``Welcome``.

    ``applications`` is None if no model reads applications and networks. The solver gets ``first_records``
    before tasks, ``custom_records`` after them. ``actions`` wait to be carried out, ``quarantine`` keeps what
    could not be handled. ``clock`` is monotonic, ``wall`` returns seconds since the epoch.
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
        network = configuration.network
        visibility = visible_to(needs, bandwidth=network.bandwidth_annotations)
        self.quarantine, self.stories = quarantine, stories
        actions = self.actions = list[Action]()
        self.first_records, self.custom_records = CustomRecords(), CustomRecords()
        self.namespaces, self.history = Namespaces(self.first_records), RuntimeHistory()
        self.samples, self.images = SampleBook(SOURCES), NodeImages()
        self.spreading = Spreading(enabled=configuration.pod_topology_spread.enabled)
        self.daemon_sets = DaemonSets()
        classes = self.classes = ClassTable(visibility, self.daemon_sets.owns)
        machines, requested = self.machines, self.requested = Machines(), Requested()
        priorities = self.priorities = PriorityResolver()
        jobs, groups = self.jobs, self.groups = Jobs(), Groups(quarantine, priorities)
        volumes = self.volumes = VolumeState(configuration.volumes, quarantine)
        devices = self.devices = DeviceState(configuration.devices, clock, wall)
        self.first_records.tell(
            FEATURES_RECORD, "devices", encode_features(configuration.devices.disabled_features)
        )
        bind_check = self.bind_check = BindCheck(machines, requested, classes)
        tasks = self.tasks = PodRecords(machines, requested, bind_check, stories)
        refusals = self.refusals = Refusals()
        self.refused_pods = RefusedPods(configuration.recovery, actions)
        self.nominations = Nominations(self.custom_records)
        moves = configuration.moves
        self.kept_places = KeptPlaces(moves, self.custom_records, wall) if moves.keep_places else None
        reasons = self.pending_reasons = PendingReasons(tasks, actions, clock, configuration.announcements)
        pending = self.pending_bindings = PendingBindings(
            tasks, volumes, devices, reasons, self.nominations, actions, clock
        )
        review = EvictionReview(
            tasks, GangView(groups, jobs, tasks), EvictionRate(configuration.evictions, clock), self._evicts
        )
        evictions = Evictions(tasks, review, refusals, actions)
        placements = self.placements = Placements(
            tasks,
            machines,
            bind_check,
            volumes,
            devices,
            pending,
            reasons,
            evictions,
            refusals,
            actions,
            quarantine,
        )
        self.volume_effects = VolumeEffects(
            volumes, tasks, machines, placements, reasons, classes, actions, clock, quarantine
        )
        self.device_effects = DeviceEffects(
            devices, tasks, self.first_records, placements, reasons, classes, actions, quarantine
        )
        self.gangs = Gangs(
            groups,
            tasks,
            jobs,
            placements,
            reasons,
            machines,
            classes,
            TopologyRecords(self.first_records, wanted=trees_are_read(visibility.records)),
            actions,
            wall,
            configuration.gangs,
            configuration.arguments(TreeArguments),
            quarantine,
        )
        follows = network.follows(visibility.records)
        arguments = configuration.arguments(NetworkArguments)
        queues = configuration.queues
        self.queues = QueueBook(queues, self.first_records, quarantine) if queues.source else None
        if self.queues is not None:
            groups.find_owner_gang = self.queues.find_gang
            bind_check.tolerations_of_queue = self.queues.list_tolerations
        self.applications = NetworkBook(network, arguments, quarantine) if follows else None

    def _evicts(self, record: PodRecord) -> bool:
        """Return whether a pod may have others evicted at all."""
        return not self.classes.message(record.task.task_class).never_preempts
