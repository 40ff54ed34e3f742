"""The objects that the core knows: machines, jobs and task classes. The events with them are in ``events``.

Plain immutable values, independent of any transport. Quantities are integers in the unit of their resource: cpu in
milli-cores, memory and ephemeral-storage in bytes, pods and extended resources as counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from cost_models.group_terms import LevelRule
from cost_models.interface import ContainerRow

OPERATORS: frozenset[str] = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})
EFFECTS: frozenset[str] = frozenset({"NoSchedule", "PreferNoSchedule", "NoExecute"})

PROTOCOLS: frozenset[str] = frozenset({"TCP", "UDP", "SCTP"})

QOS_CLASSES: frozenset[str] = frozenset({"Guaranteed", "Burstable", "BestEffort"})

PODS = "pods"
"""Every task takes one unit of this resource on its machine, whether or not its class says so."""

NO_ANNOTATIONS: Mapping[str, str] = MappingProxyType({})
"""Shared by all objects without annotations, so that loops over thousands of machines find it in the CPU's cache."""

MAX_QUANTITY = 2**53
"""Largest amount of a resource that is accepted; with larger ones, sums over a machine could overflow 64 bits."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A mark that keeps tasks away which do not tolerate it (core/v1 Taint)."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """core/v1 Toleration; an empty ``key`` with ``Exists`` matches every taint, an empty ``effect`` every effect.

    ``Gt`` and ``Lt`` match taints whose value is an integer above, or below, ``value``.
    """

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One ``key operator values`` condition on labels or fields (core/v1 NodeSelectorRequirement)."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """A conjunction of requirements. A term without any requirement matches nothing, as in Kubernetes."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    """A term that is worth ``weight`` (1..100) on machines that match it."""

    weight: int
    term: NodeSelectorTerm


@dataclass(frozen=True, slots=True)
class TaskSelector:
    """Tasks by namespace and labels (core/v1 LabelSelector with namespaces and namespaceSelector).

    ``labels``: all must hold; without any, every task matches. ``nothing``: matches no task whatever else is set.
    ``namespaces`` by name, and also those that match ``namespace_labels`` (None: no more; (): every namespace).
    """

    labels: tuple[Requirement, ...] = ()
    nothing: bool = False
    namespaces: tuple[str, ...] = ()
    namespace_labels: tuple[Requirement, ...] | None = None


@dataclass(frozen=True, slots=True)
class TaskTerm:
    """Tasks of ``selector`` on machines with one value of the label ``topology_key`` (core/v1 PodAffinityTerm).

    ``weight`` is 1..100 in preferred terms, 0 in required ones.
    """

    topology_key: str
    selector: TaskSelector
    weight: int = 0


@dataclass(frozen=True, slots=True)
class SpreadRule:
    """core/v1 TopologySpreadConstraint."""

    topology_key: str
    """Label whose values are the domains."""
    selector: TaskSelector
    """Tasks that count."""
    max_skew: int
    """By how many tasks a domain may exceed the emptiest one."""
    required: bool
    """Whether the rule is DoNotSchedule."""
    min_domains: int = 0
    """If there are fewer domains, the emptiest counts as having 0 tasks."""
    ignore_node_affinity: bool = False
    """Whether machines count although the task's selectors do not admit them."""
    honor_taints: bool = False
    """Whether only machines count whose taints the task tolerates."""


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the machine that a task takes; an empty ``ip`` stands for all of its addresses."""

    port: int
    protocol: str = "TCP"
    ip: str = ""


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk that a task mounts without a claim: two tasks use it on one machine only if both only read.

    ``claim``: it is a claim for one task at a time, for which machines where another task has it show another reason.
    """

    name: str
    read_only: bool = False
    claim: bool = False


@dataclass(frozen=True, slots=True)
class TaskClaim:
    """A claim of devices by a task. Exactly one of ``claim`` and ``spec`` is given."""

    name: str
    """The name of the claim in the task."""
    claim: str = ""
    """``namespace/name`` of an existing claim, which is the name of its record."""
    spec: str = ""
    """JSON of the spec of a claim that is made for each task (resource.k8s.io/v1 ResourceClaimSpec)."""


class ClaimAllocation(NamedTuple):
    """Devices that are allocated to a claim of a task."""

    name: str
    """The name of the claim in the task."""
    claim: str
    """``namespace/name`` of a claim that existed before, "" for one that was made for the task."""
    allocation: str
    """JSON of an AllocationResult (resource.k8s.io/v1)."""


@dataclass(frozen=True, slots=True)
class Image:
    """A container image on a machine: its names, and its size in bytes."""

    names: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True)
class StorageRoom:
    """Bytes of volumes of a storage class that can be created so that a machine reaches them.

    ``largest``: for a single volume; ``capacity``: for all together, 0 if using it makes no difference.
    """

    storage_class: str
    largest: int
    capacity: int = 0


@dataclass(frozen=True, slots=True)
class NewStorage:
    """The volumes of a storage class that must be created for a task: bytes of the ``largest`` one, and of all
    together.
    """

    storage_class: str
    largest: int
    total: int


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine as last described."""

    name: str
    """Its name."""
    allocatable: Mapping[str, int]
    """Amounts by resource; an absent resource counts as 0."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Its labels."""
    taints: tuple[Taint, ...] = ()
    """Its taints."""
    unschedulable: bool = False
    """Whether it is cordoned."""
    not_ready: bool = False
    """Whether it is not ready."""
    annotations: Mapping[str, str] = field(default_factory=lambda: NO_ANNOTATIONS)
    """Its annotations."""
    images: tuple[Image, ...] = ()
    """Images on it."""
    total: Mapping[str, int] = field(default_factory=dict)
    """Amounts of the hardware, including the system's part; absent resources are as in ``allocatable``."""
    attached: tuple[str, ...] = ()
    """Those volumes attached to it that several tasks share."""
    storage: tuple[StorageRoom, ...] = ()
    """Storage classes whose drivers report how much they can create, one entry each."""


Container: TypeAlias = ContainerRow


@dataclass(frozen=True, slots=True)
class VolumeRule:
    """Where a volume can be reached: one of ``terms`` must match the machine (without any, no machine does).

    ``reason``: the reason on other machines; "": that of a volume's node affinity. ``in_use``: another task now has
    exclusive use of the volume. That reason comes before those of attachment limits, and is gone once that task has
    left.
    """

    terms: tuple[NodeSelectorTerm, ...] = ()
    reason: str = ""
    in_use: bool = False


@dataclass(frozen=True, slots=True)
class TaskClass:
    """Everything that constraints and costs depend on in a task; tasks with equal content are interchangeable.

    Mappings are sorted tuples of pairs, so that the content is hashable.
    """

    requests: tuple[tuple[str, int], ...] = ()
    """Amounts by resource."""
    node_selector: tuple[tuple[str, str], ...] = ()
    """Labels that machines must have."""
    required: tuple[NodeSelectorTerm, ...] = ()
    """Required node affinity."""
    preferred: tuple[PreferredTerm, ...] = ()
    """Preferred node affinity."""
    tolerations: tuple[Toleration, ...] = ()
    """Tolerated taints."""
    namespace: str = ""
    """Namespace of the tasks."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels of the tasks."""
    annotations: tuple[tuple[str, str], ...] = ()
    """Annotations of the tasks."""
    machine: str = ""
    """The only machine that they may use, "" for any."""
    invalid: str = ""
    """Why such tasks can never be placed, "" if they can."""
    affinity: tuple[TaskTerm, ...] = ()
    """Required affinity to other tasks."""
    anti_affinity: tuple[TaskTerm, ...] = ()
    """Required anti-affinity."""
    preferred_affinity: tuple[TaskTerm, ...] = ()
    """Preferred affinity."""
    preferred_anti_affinity: tuple[TaskTerm, ...] = ()
    """Preferred anti-affinity."""
    spread: tuple[SpreadRule, ...] = ()
    """Rules of topology spread."""
    ports: tuple[HostPort, ...] = ()
    """Host ports."""
    volumes: tuple[VolumeRule, ...] = ()
    """Where volumes can be reached."""
    images: tuple[str, ...] = ()
    """One image per container."""
    terminating: bool = False
    """Whether the tasks are being deleted, and no longer count for topology spread."""
    never_preempts: bool = False
    """Whether they may not evict others."""
    containers: tuple[Container, ...] = ()
    """Containers, if some model reads them."""
    qos: str = ""
    """QoS class, "" if unknown; only if some model reads containers."""
    overhead: tuple[tuple[str, int], ...] = ()
    """Amounts by resource that the runtime adds; only if some model reads containers."""
    limits: tuple[tuple[str, int], ...] = ()
    """Limits by resource; only if some model estimates use."""
    service_class: str = ""
    """Koordinator's priority class, "" for none; only if some model estimates use."""
    daemon: bool = False
    """Whether a DaemonSet owns them; only if some model estimates use."""
    runs_to_completion: bool = False
    """Whether they are expected to end by themselves."""
    run_seconds: int = 0
    """Seconds within which the tasks end once they have a machine; 0 if unknown."""
    assumed: tuple[tuple[str, int], ...] = ()
    """Amounts by resource that costs add to requests, because some container states none; they take no room."""
    attachments: tuple[tuple[str, str], ...] = ()
    """Pairs of resource and volume: tasks need one unit less of the resource on machines with the volume attached."""
    new_storage: tuple[NewStorage, ...] = ()
    """Volumes to be created, by storage class, if drivers report how much they can create."""
    disks: tuple[Disk, ...] = ()
    """Disks that are mounted without a claim."""
    queue: str = ""
    """Name of the quota that the tasks draw on, "" for none."""
    profile: str = ""
    """Name of the profile by which the tasks are placed; "" or an unknown name: the default profile."""
    claims: tuple[TaskClaim, ...] = ()
    """Claims of devices."""
    group: str = ""
    """Name of the tasks' group in the tree of groups of their job, "" if it has none."""
    flavor_group: str = ""
    """Name of a group of pod sets: its tasks in a gang take the same flavors of quotas, "" for none."""


@dataclass(frozen=True, slots=True)
class JobGroup:
    """A group in a job's tree of groups. Groups that are not the parent of another hold tasks."""

    name: str
    """Its name, unique in the job."""
    parent: str = ""
    """Name of the group that contains it, "" for a root."""
    least: int = 0
    """Number of its tasks, or groups in it, that are placed together or not at all; 0: each by itself."""
    within: tuple[str, ...] = ()
    """Labels of machines: all tasks go to machines with the same value of each."""
    rather_within: tuple[str, ...] = ()
    """Labels of machines, by preference: all tasks go to machines with the same value of the first that is possible."""
    apart: bool = False
    """Whether no two groups in it share a value of the labels that they name in ``within``."""
    disrupted_whole: bool = False
    """Whether evicting one of its tasks evicts all."""
    expected: int = 0
    """How many tasks, or groups in it, the group will have, 0 if unknown. As long as none of its tasks is on a machine,
    rounds look for room for all.
    """
    expected_alike: bool = False
    """Whether the tasks that do not exist yet request what its tasks do. If so, or if all exist, none is placed unless
    there is room for all. Otherwise domains with that room come first; if there are none, others are used that have
    room for all that exist. Of a group of groups: whether all that are expected begin together.
    """
    divided: tuple[tuple[str, LevelRule], ...] = ()
    """Labels of machines, each with a rule about how the members of the group (its tasks, or the groups in it) are
    divided over its values; each of these groups stays on machines with one value. The second rule divides the members
    that share a value of the first label, and so on.
    """


@dataclass(frozen=True, slots=True)
class Job:
    """The owner of tasks."""

    id: str
    """Its id."""
    name: str = ""
    """Its name, for people."""
    size: int = 0
    """Number of its tasks, 0 if unknown."""
    min_members: int = 0
    """Number of tasks that must be placed together; 0 or 1: no gang."""
    namespace: str = ""
    """Its namespace."""
    gang_seconds: float = 0.0
    """Seconds within which a decided gang must be complete; 0: as configured."""
    was_whole: bool = False
    """Whether the gang was complete before this scheduler knew it, and some of its tasks still run."""
    disrupted_whole: bool = False
    """Whether evicting one task of the gang evicts all."""
    least_room: tuple[tuple[str, int], ...] = ()
    """Amounts by resource; no task is placed while all machines together have less room."""
    groups: tuple[JobGroup, ...] = ()
    """Its tree of groups, parents first; () if it has none. ``min_members`` then counts tasks of all groups: the least
    number that makes the tree complete, or more.
    """

    @property
    def is_gang(self) -> bool:
        """Whether several of its tasks must be placed together."""
        return self.min_members > 1

    @property
    def asks_for_room(self) -> bool:
        """Whether its tasks wait until all machines together have enough room."""
        return bool(self.least_room)
