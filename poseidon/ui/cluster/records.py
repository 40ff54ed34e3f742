"""Records of pods and nodes, reduced to the fields that the pages show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import Struct

from poseidon.group_trees.spec.keys import RANK_LABEL
from poseidon.kube.api.metadata import ObjectMeta, seconds
from poseidon.pod_groups.group_names import (
    BUNDLE,
    GROUPS_BY_DOMAIN,
    KAI_POD_GROUP,
    NO_PART,
    POD_GANG,
    SIGS_POD_GROUP,
    VOLCANO_POD_GROUP,
    VOLCANO_TASK,
    DomainTerms,
    MemberPart,
    Membership,
    find_domain_group,
    find_membership,
    part_in,
)
from poseidon.pod_groups.koordinator import NO_TERMS
from poseidon.pod_groups.readers.exclusive_topology import read_domain_part
from poseidon.pods.requests_and_limits import amounts, effective_requests
from poseidon.pods.resizes import as_counted
from poseidon.pods.run_times import find_last_end
from poseidon.pods.scheduling_gates import GATED_REASON
from poseidon.pods.tasks import Disposition, classify_pod, get_qualified_name, scheduler_of, workload_of
from poseidon.pods.visibility import APP_GROUP_LABEL, WORKLOAD_LABEL
from poseidon.ui.cluster.pod_claims import ClaimOfPod, list_pod_claims
from poseidon.ui.cluster.pod_rules import NO_RULES, PodRules, pod_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poseidon.kube.api.nodes import Node
    from poseidon.kube.api.pods import Pod
    from poseidon.kube.parsing.defects import Defect

PENDING, GATED, BOUND, ENDED, GONE = "pending", "gated", "bound", "ended", "gone"
"""Phases of pods; a pod that is being deleted and never had a node counts as ended."""

WAITING = (PENDING, GATED)
NOT_LOOKED_AT = "waits for the next round"

_PHASES = {
    Disposition.FINISHED: ENDED,
    Disposition.TERMINATING: ENDED,
    Disposition.BOUND: BOUND,
    Disposition.GATED: GATED,
    Disposition.PENDING: PENDING,
}
_MOST_TEXT = 2000
_MOST_SHAPES = 50_000
_MOST_NAME = 600
_LONGEST_RANK = 9
_LONGEST_SHARE = 20
_KINDS_WITH_PARTS = frozenset({SIGS_POD_GROUP, BUNDLE, KAI_POD_GROUP, POD_GANG, *GROUPS_BY_DOMAIN})
"""Kinds of groups whose pods themselves state to which part of the group they belong."""


class Disruption(Struct, frozen=True, gc=False):
    """The condition ``DisruptionTarget`` of a pod, which says why the pod is to leave its node."""

    at: float
    reason: str
    message: str


class PodEntry(Struct):
    """A pod, as the dashboard knows it. Times are in seconds since the epoch, 0 for none."""

    uid: str
    """Uid of the pod."""
    name: str
    """Name of the pod, ``namespace/name``."""
    phase: str
    """Phase of the pod: pending, gated, bound, ended or gone."""
    node: str
    """Node of the pod, "" if it has none."""
    created: float
    """When the pod was created."""
    since: float
    """When the pod entered its phase."""
    priority: int
    """Value of the pod's priority."""
    task_class: str
    """Workload of the pod, as the solver names jobs."""
    scheduler: str
    """Name of the pod's scheduler."""
    requests: Mapping[str, int]
    """Amounts that the pod requests, by resource; pods with equal requests share one object."""
    rules: PodRules = NO_RULES
    """The pod's rules about nodes; pods with equal rules share one object."""
    reason: str = ""
    """Why the pod is pending, "" if it is not pending, or if no scheduler has given a reason."""
    nominated: str = ""
    """Node that the pod's status nominates, "" for none."""
    group: Membership | None = None
    """Group of the pod, None if it has none."""
    part: MemberPart = NO_PART
    """Part of the group to which the pod belongs."""
    words: ObjectMeta | None = None
    """The pod's labels and task, by which Volcano's PodGroups tell their parts; None for other groups."""
    app_group: str = ""
    """AppGroup of the pod, "" for none."""
    workload: str = ""
    """Workload of the pod within the AppGroup."""
    succeeded: bool = False
    """Whether the pod has succeeded."""
    scheduled: float = 0.0
    """When the pod was scheduled."""
    started: float = 0.0
    """When the pod started."""
    deleted: float = 0.0
    """When somebody asked for the pod's deletion."""
    gone: float = 0.0
    """When the pod disappeared."""
    disruption: Disruption | None = None
    """Why the pod is to leave its node, None if it is not."""
    moves_to: str = ""
    """Node to which a planned move takes the pod, "" for none."""
    rank: int | None = None
    """Rank of the pod in its group, None if the pod has no rank."""
    claims: tuple[ClaimOfPod, ...] = ()
    """The pod's claims of devices."""
    said: tuple[tuple[float, str], ...] = ()
    """Reasons that schedulers gave while the pod waited, oldest first, as pairs of time and text."""

    @property
    def namespace(self) -> str:
        """The pod's namespace."""
        return self.name.partition("/")[0]

    @property
    def own_name(self) -> str:
        """The pod's name within its namespace."""
        return self.name.partition("/")[2]

    @property
    def waits(self) -> bool:
        """Whether the pod waits for a node, or is held by a scheduling gate."""
        return self.phase in WAITING


@dataclass(slots=True)
class NodeFacts:
    """What the dashboard reads from a Node object."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the node."""
    taints: tuple[str, ...] = ()
    """Taints of the node, as texts."""
    conditions: tuple[str, ...] = ()
    """Conditions of the node that are not normal."""
    allocatable: Mapping[str, int] = field(default_factory=dict)
    """Allocatable amounts of the node, in the protocol's units."""
    cordoned: bool = False
    """Whether the node is cordoned."""
    ready: bool = False
    """Whether the node is ready."""
    created: float = 0.0
    """When the node was created, in seconds since the epoch."""


class Recorder:
    """Turns pods and nodes into records; equal requests of several pods share one object."""

    def __init__(self) -> None:
        self._requests: dict[tuple[tuple[str, int], ...], Mapping[str, int]] = {}
        self._rules: dict[PodRules, PodRules] = {}
        self._words: dict[str, str] = {}

    def pod(self, uid: str, pod: Pod, move_to: str, now: float) -> PodEntry:
        """Return the record of a pod. ``move_to`` is the annotation that announces a move of the pod."""
        metadata, spec = pod.metadata, pod.spec
        phase = _PHASES[classify_pod(pod)]
        created = max(seconds(metadata.creation_timestamp) or now, 0.0)
        condition = pod.condition("PodScheduled")
        scheduled, reason = 0.0, ""
        if condition is not None and condition.status == "True":
            scheduled = seconds(condition.last_transition_time) or 0.0
        elif condition is not None:
            reason = condition.message[:_MOST_TEXT]
        if phase == GATED:
            reason = GATED_REASON
        elif phase == PENDING:
            reason = reason or NOT_LOOKED_AT
        elif phase == ENDED:
            reason = (pod.status.message or pod.status.reason)[:_MOST_TEXT]
        else:
            reason = ""
        labels = metadata.labels
        return PodEntry(
            uid=uid,
            name=get_qualified_name(metadata),
            phase=phase,
            node=self._word(spec.node_name),
            created=created,
            since=_since(phase, pod, created, scheduled),
            priority=spec.priority or 0,
            task_class=self._word(workload_of(pod)[:_MOST_NAME]),
            scheduler=self._word(scheduler_of(pod)[:_MOST_NAME]),
            requests=self._share_amounts(pod),
            rules=self._share_rules(pod),
            reason=self._word(reason),
            nominated="" if spec.node_name else pod.status.nominated_node_name,
            group=(group := _group(pod)),
            part=_part(pod, group),
            words=_list_words(pod, group),
            app_group=self._word(labels.get(APP_GROUP_LABEL, "")),
            workload=self._word(labels.get(WORKLOAD_LABEL, "")),
            succeeded=pod.status.phase == "Succeeded",
            scheduled=scheduled,
            started=_read_start(pod),
            deleted=seconds(metadata.deletion_timestamp) or 0.0,
            disruption=_disruption(pod),
            moves_to=move_to[:_MOST_NAME],
            rank=_rank(labels.get(RANK_LABEL, "")),
            claims=list_pod_claims(pod),
        )

    def _share_amounts(self, pod: Pod) -> Mapping[str, int]:
        defects: list[Defect] = []  # The faults are dropped, because the bridge reports them.
        found = effective_requests(as_counted(pod).spec, defects)
        key = tuple(sorted(found.items()))
        if len(self._requests) > _MOST_SHAPES:
            self._requests.clear()
        return self._requests.setdefault(key, found)

    def _share_rules(self, pod: Pod) -> PodRules:
        found = pod_rules(pod.spec)
        if len(self._rules) > _MOST_SHAPES:
            self._rules.clear()
        return self._rules.setdefault(found, found)

    def _word(self, text: str) -> str:
        """Return an equal text, the same object for all records, to save memory."""
        if len(self._words) > _MOST_SHAPES:
            self._words.clear()
        return self._words.setdefault(text, text)


def node_facts(node: Node) -> NodeFacts:
    """Return what the dashboard reads from a Node object."""
    defects: list[Defect] = []
    ready = next((each.status for each in node.status.conditions if each.type == "Ready"), "True")
    return NodeFacts(
        labels=node.metadata.labels,
        taints=tuple(
            f"{each.key}={each.value}:{each.effect}" if each.value else f"{each.key}:{each.effect}"
            for each in node.spec.taints
        ),
        conditions=tuple(
            _format_condition(each.type, each.status, each.message) for each in node.status.conditions
        ),
        allocatable=amounts(node.status.allocatable or {}, "status.allocatable", defects, down=True),
        cordoned=node.spec.unschedulable,
        ready=ready == "True",
        created=max(seconds(node.metadata.creation_timestamp) or 0.0, 0.0),
    )


def _format_condition(kind: str, status: str, message: str) -> str:
    """Return a condition as a text for people."""
    return f"{kind}={status}: {message[:_MOST_TEXT]}" if message else f"{kind}={status}"


def _since(phase: str, pod: Pod, created: float, scheduled: float) -> float:
    if phase == BOUND:
        return scheduled or created
    if phase == ENDED:
        return find_last_end(pod) or scheduled or created
    return created


def _read_start(pod: Pod) -> float:
    states = (each.state for each in pod.status.container_statuses)
    begun = (each.running or each.terminated for each in states)
    times = (seconds(each.started_at) for each in begun if each is not None)
    return min((time for time in times if time), default=0.0)


def _group(pod: Pod) -> Membership | None:
    """Return, in short, the group that a pod names, or the group that shares a domain with it."""
    found = find_membership(pod) or find_domain_group(pod)
    if found is None:
        return None
    source = found.source._replace(name=found.source.name[:_MOST_NAME])
    gangs = found.gangs if sum(map(len, found.gangs)) <= _MOST_TEXT else ()
    return found._replace(
        source=source, share=found.share[:_LONGEST_SHARE], gangs=gangs, domain=found.domain[:_MOST_NAME]
    )


def _part(pod: Pod, group: Membership | None) -> MemberPart:
    """Return what a pod states about its part of a group: role, minimum and domains."""
    if group is None or group.source.kind not in _KINDS_WITH_PARTS:
        return NO_PART
    part = read_domain_part(pod) if group.source.kind in GROUPS_BY_DOMAIN else part_in(pod, group)
    role, terms = part.role, part.terms
    return MemberPart(
        role[:_MOST_NAME],
        NO_TERMS._replace(least=terms.least[:_LONGEST_SHARE], least_key=terms.least_key),
        DomainTerms(*(each[:_MOST_NAME] for each in part.domains)),
    )


def _list_words(pod: Pod, group: Membership | None) -> ObjectMeta | None:
    if group is None or group.source.kind != VOLCANO_POD_GROUP:
        return None
    task = pod.metadata.annotations.get(VOLCANO_TASK, "")
    return ObjectMeta(labels=pod.metadata.labels, annotations={VOLCANO_TASK: task[:_MOST_NAME]})


def _rank(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_RANK else None


def _disruption(pod: Pod) -> Disruption | None:
    condition = pod.condition("DisruptionTarget")
    if condition is None or condition.status != "True":
        return None
    at = seconds(condition.last_transition_time) or 0.0
    return Disruption(at, condition.reason, condition.message[:_MOST_TEXT])
