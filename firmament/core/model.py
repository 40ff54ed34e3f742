"""Defines the objects that the core knows: machines, jobs and task classes; ``events`` defines events about them.

The objects are plain immutable values, independent of how they are transported. Quantities are integers in the unit
of their resource: cpu in milli-cores, memory and ephemeral-storage in bytes, pods and extended resources as counts.
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
"""All objects without annotations share this mapping, so that loops over many machines find it in the CPU's cache."""

MAX_QUANTITY = 2**53
"""The largest amount of a resource that is accepted; with larger ones, sums over a machine could overflow 64 bits."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A mark that keeps tasks away that do not tolerate it (core/v1 Taint)."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """A core/v1 Toleration; an empty ``key`` with ``Exists`` matches every taint, an empty ``effect`` every effect.

    ``Gt`` and ``Lt`` match taints whose value is an integer above, or below, ``value``.
    """

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition ``key operator values`` on labels or fields (core/v1 NodeSelectorRequirement)."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """Requirements that must all be met. As in Kubernetes, a term without any requirement matches nothing."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    """A term that is worth ``weight`` (1 to 100) on machines that match it."""

    weight: int
    term: NodeSelectorTerm


@dataclass(frozen=True, slots=True)
class TaskSelector:
    """Selects tasks by namespace and labels (core/v1 LabelSelector with namespaces and namespaceSelector).

    ``labels``: all must match; () matches every task. ``nothing``: the selector matches no task, whatever else is set.
    ``namespaces``: by name; those that match ``namespace_labels`` are added (None: no more, (): every namespace).
    """

    labels: tuple[Requirement, ...] = ()
    nothing: bool = False
    namespaces: tuple[str, ...] = ()
    namespace_labels: tuple[Requirement, ...] | None = None


@dataclass(frozen=True, slots=True)
class TaskTerm:
    """Selects tasks on machines with one value of the label ``topology_key`` (core/v1 PodAffinityTerm).

    ``weight``: 1 to 100 in preferred terms, 0 in required ones.
    """

    topology_key: str
    selector: TaskSelector
    weight: int = 0


@dataclass(frozen=True, slots=True)
class SpreadRule:
    """A core/v1 TopologySpreadConstraint."""

    topology_key: str
    """The label whose values are the domains."""
    selector: TaskSelector
    """The tasks that count."""
    max_skew: int
    """By how many tasks a domain may exceed the emptiest domain."""
    required: bool
    """Whether the constraint is DoNotSchedule."""
    min_domains: int = 0
    """If there are fewer domains, the emptiest counts as having 0 tasks."""
    ignore_node_affinity: bool = False
    """Whether machines count although the task's selectors do not admit them."""
    honor_taints: bool = False
    """Whether only machines count whose taints the task tolerates."""


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the machine that a task uses; an empty ``ip`` stands for all addresses of the machine."""

    port: int
    protocol: str = "TCP"
    ip: str = ""


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk that a task mounts without a claim: two tasks may use it on one machine only if both only read it.

    ``claim``: the disk is a claim for one task at a time; machines where another task has it state a reason of its own.
    """

    name: str
    read_only: bool = False
    claim: bool = False


@dataclass(frozen=True, slots=True)
class TaskClaim:
    """A claim of devices by a task. Exactly one of ``claim`` and ``spec`` is given."""

    name: str
    """The claim's name in the task."""
    claim: str = ""
    """``namespace/name`` of an existing claim, which is the name of its record."""
    spec: str = ""
    """JSON of the spec of a claim that is made for each task (resource.k8s.io/v1 ResourceClaimSpec)."""


class ClaimAllocation(NamedTuple):
    """The devices that are allocated to a claim of a task."""

    name: str
    """The claim's name in the task."""
    claim: str
    """``namespace/name`` of a claim that existed before; "" for a claim that was made for the task."""
    allocation: str
    """JSON of an AllocationResult (resource.k8s.io/v1)."""


@dataclass(frozen=True, slots=True)
class Image:
    """A container image on a machine: its names, and its size in bytes."""

    names: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True)
class StorageRoom:
    """Storage of one storage class that a machine reaches, for volumes that can still be created.

    ``largest``: bytes for a single volume. ``capacity``: bytes for all volumes, 0 if they do not matter for scores.
    """

    storage_class: str
    largest: int
    capacity: int = 0


@dataclass(frozen=True, slots=True)
class NewStorage:
    """The volumes of a storage class that must be created for a task: bytes of the ``largest`` volume, and of all."""

    storage_class: str
    largest: int
    total: int


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine as the driver last described it."""

    name: str
    """The machine's name."""
    allocatable: Mapping[str, int]
    """Amounts by resource; an absent resource counts as 0."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The machine's labels."""
    taints: tuple[Taint, ...] = ()
    """The machine's taints."""
    unschedulable: bool = False
    """Whether the machine is cordoned."""
    not_ready: bool = False
    """Whether the machine is not ready."""
    annotations: Mapping[str, str] = field(default_factory=lambda: NO_ANNOTATIONS)
    """The machine's annotations."""
    images: tuple[Image, ...] = ()
    """The container images on the machine."""
    total: Mapping[str, int] = field(default_factory=dict)
    """Amounts of the hardware, including the system's part; absent resources are as in ``allocatable``."""
    attached: tuple[str, ...] = ()
    """The volumes attached to the machine that several tasks share."""
    storage: tuple[StorageRoom, ...] = ()
    """The storage classes whose drivers report how much they can create, one entry each."""


Container: TypeAlias = ContainerRow


@dataclass(frozen=True, slots=True)
class VolumeRule:
    """Says which machines reach a volume: those that match one of ``terms`` (without terms, no machine does).

    ``reason``: the reason for refusing other machines; "": the reason for a volume's node affinity. ``in_use``:
    another task now has exclusive use of the volume. If another task has the volume, the reason precedes those of
    attachment limits, and no longer holds once that task has left.
    """

    terms: tuple[NodeSelectorTerm, ...] = ()
    reason: str = ""
    in_use: bool = False


@dataclass(frozen=True, slots=True)
class TaskClass:
    """Everything about a task on which constraints and costs depend; tasks with equal content are interchangeable.

    Mappings are sorted tuples of pairs, so that the content is hashable.
    """

    requests: tuple[tuple[str, int], ...] = ()
    """Requested amounts by resource."""
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
    """The only machine that the tasks may use; "" for any."""
    invalid: str = ""
    """Why tasks of the class can never be placed; "" if they can."""
    affinity: tuple[TaskTerm, ...] = ()
    """Required affinity to other tasks."""
    anti_affinity: tuple[TaskTerm, ...] = ()
    """Required anti-affinity to other tasks."""
    preferred_affinity: tuple[TaskTerm, ...] = ()
    """Preferred affinity to other tasks."""
    preferred_anti_affinity: tuple[TaskTerm, ...] = ()
    """Preferred anti-affinity to other tasks."""
    spread: tuple[SpreadRule, ...] = ()
    """Topology spread constraints."""
    ports: tuple[HostPort, ...] = ()
    """Host ports that the tasks use."""
    volumes: tuple[VolumeRule, ...] = ()
    """Which machines reach the tasks' volumes."""
    images: tuple[str, ...] = ()
    """Container images, one per container."""
    terminating: bool = False
    """Whether the tasks are being deleted, and no longer count for topology spread."""
    never_preempts: bool = False
    """Whether the tasks may not evict others."""
    containers: tuple[Container, ...] = ()
    """The tasks' containers, if some model reads them."""
    qos: str = ""
    """QoS class, "" if unknown; stated only if some model reads containers."""
    overhead: tuple[tuple[str, int], ...] = ()
    """Amounts by resource that the runtime adds; stated only if some model reads containers."""
    limits: tuple[tuple[str, int], ...] = ()
    """Limits by resource; stated only if some model estimates use."""
    service_class: str = ""
    """Koordinator's priority class, "" for none; stated only if some model estimates use."""
    daemon: bool = False
    """Whether a DaemonSet owns the tasks; stated only if some model estimates use."""
    runs_to_completion: bool = False
    """Whether the tasks are expected to end by themselves."""
    run_seconds: int = 0
    """Seconds within which the tasks end once they have a machine; 0 if unknown."""
    assumed: tuple[tuple[str, int], ...] = ()
    """Amounts by resource that cost models add because some container requests none; machines do not book them."""
    attachments: tuple[tuple[str, str], ...] = ()
    """Pairs of resource and volume: tasks need one unit less of the resource on machines with the volume attached."""
    new_storage: tuple[NewStorage, ...] = ()
    """Volumes to be created, by storage class, if drivers report how much they can create."""
    disks: tuple[Disk, ...] = ()
    """Disks that the tasks mount without a claim."""
    queue: str = ""
    """Name of the quota that the tasks use; "" for none."""
    profile: str = ""
    """Name of the profile by which the tasks are placed; "" or an unknown name: the default profile."""
    claims: tuple[TaskClaim, ...] = ()
    """The tasks' claims of devices."""
    group: str = ""
    """Name of the tasks' group in their job's tree of groups; "" if they are in no group."""
    flavor_group: str = ""
    """Name of a group of pod sets: its tasks in a gang take the same flavors of quotas; "" for none."""


@dataclass(frozen=True, slots=True)
class JobGroup:
    """A group in a job's tree of groups. A group that is not the parent of another group contains tasks."""

    name: str
    """The group's name, unique in the job."""
    parent: str = ""
    """Name of the group that contains this group; "" for a root."""
    least: int = 0
    """How many of the group's tasks, or of the groups in it, are placed together or not at all; 0: each by itself."""
    within: tuple[str, ...] = ()
    """Labels of machines: all tasks of the group go to machines with the same value of each label."""
    rather_within: tuple[str, ...] = ()
    """Labels of machines, by preference: all tasks go to machines with one value of the first possible label."""
    apart: bool = False
    """Whether no two groups inside this group may share a value of the labels that they name in ``within``."""
    disrupted_whole: bool = False
    """Whether evicting one task of the group evicts all."""
    expected: int = 0
    """How many tasks, or groups in it, the group will have; 0 if unknown. While none of the group's tasks is on a
    machine, rounds look for machines for all expected ones.
    """
    expected_alike: bool = False
    """Whether the tasks that do not exist yet will request what the present tasks do. If they will, or if all tasks
    exist, no task is placed unless all would fit. If tasks to come will request something else, domains come first in
    which all expected tasks would fit. If no domain would hold them all, domains are used in which all existing tasks
    fit. For a group of groups: whether all that are expected begin together.
    """
    divided: tuple[tuple[str, LevelRule], ...] = ()
    """Labels of machines, each with a rule that divides the group's members (tasks, or groups) over the label's values.

    Each group inside the divided group stays on machines with one value of the label. The second rule divides those
    members that share a value of the first label, and so on.
    """


@dataclass(frozen=True, slots=True)
class Job:
    """The owner of tasks."""

    id: str
    """The job's ID."""
    name: str = ""
    """The job's name, for messages."""
    size: int = 0
    """Number of the job's tasks; 0 if unknown."""
    min_members: int = 0
    """Number of tasks that must be placed together; 0 or 1: the job is no gang."""
    namespace: str = ""
    """The job's namespace."""
    gang_seconds: float = 0.0
    """Seconds within which the gang must be complete once it is placed; 0: as configured."""
    was_whole: bool = False
    """Whether the gang was complete before this solver knew it, and some of its tasks still run."""
    disrupted_whole: bool = False
    """Whether evicting one task of the gang evicts all."""
    least_room: tuple[tuple[str, int], ...] = ()
    """Amounts by resource: no task of the job is placed while all machines together have less left."""
    groups: tuple[JobGroup, ...] = ()
    """The job's tree of groups, parents first; () if it has none.

    With groups, ``min_members`` counts tasks of all groups: the least number that makes the tree complete, or more.
    """

    @property
    def is_gang(self) -> bool:
        """Whether several tasks of the job must be placed together."""
        return self.min_members > 1

    @property
    def asks_for_room(self) -> bool:
        """Whether the job's tasks wait until all machines together have enough left."""
        return bool(self.least_room)
