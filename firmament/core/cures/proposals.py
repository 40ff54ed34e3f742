"""What a cure is: one or more changes after which a task that waits has a place; and what could be changed about a task
or a machine, so that it is not refused for a reason any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple, TypeVar

from firmament.core.configuration import HOSTNAME
from firmament.core.cures.near_labels import corrections
from firmament.core.model import PODS, Machine, NodeSelectorTerm, TaskClass, Toleration
from firmament.core.reasons import Cause, CuredBy, Reason, lack_of, lacks_only_room
from firmament.core.rescheduling.trials import TrialChange
from firmament.core.selectors.taints import tolerated

T = TypeVar("T")


class CureKind(Enum):
    """What is changed: the task, a machine, or where others run; cures are told in this order."""

    CORRECT = "correct-selector"
    LOWER_REQUEST = "lower-request"
    TOLERATE = "tolerate"
    LABEL_MACHINE = "label-node"
    UNCORDON = "uncordon-node"
    WIDEN = "widen-rule"
    DROP = "drop-constraint"
    MOVES = "move-others"
    ENLARGE_MACHINE = "enlarge-node"
    FEWER = "fewer-replicas"
    ADD_MACHINE = "add-node"


class CureChange(NamedTuple):
    """One change. ``subject``: the resource, the label's key, the taint, the constraint; ``machine``: which one is
    changed, or is like the one that is added; ``before``, ``after``: amounts, or values of a label, None for none; of
    constraints that there may be several of, ``before`` says which, from 0 on, and ``after`` a wider limit; of moves
    that make room for a gang, ``after`` says for how many of it. Of a selector that is corrected, both are labels:
    ``key=value``.
    """

    kind: CureKind
    subject: str = ""
    machine: str = ""
    before: int | str | None = None
    after: int | str | None = None


@dataclass(frozen=True, slots=True)
class Cure:
    """After ``steps`` the task gets ``machine``; tried by rounds. ``moves``: of others, uid -> machine.

    ``rival``: who else waits and would get the place first, "" for nobody. ``together``: so many that wait have places
    then, the task among them; 0: it was tried for the task by itself.
    """

    steps: tuple[CureChange, ...]
    machine: str
    moves: Mapping[str, str] = field(default_factory=dict)
    rival: str = ""
    together: int = 0


class CureProposal(NamedTuple):
    """A change, and how it is told."""

    steps: tuple[CureChange, ...]
    change: TrialChange


class ChangedMachine(NamedTuple):
    """A task's class and a machine as they would be, and what is free there: amount by resource."""

    content: TaskClass
    machine: Machine
    free: Mapping[str, int]


def for_cause(
    standing: ChangedMachine, cause: Cause, offered: Mapping[str, Collection[str]]
) -> Iterator[CureProposal]:
    """Yield what could be changed about a task or a machine that refuses it for a reason, the smallest change first.

    ``offered``: by key, the values of all machines' labels.
    """
    match cause.reason.cured_by:
        case CuredBy.ROOM:
            yield from _smaller(standing)
            yield from _larger(standing)
        case CuredBy.TOLERATION:
            yield from _tolerating(standing)
        case CuredBy.LABELS:
            yield from _corrected(standing, offered)
            yield from _labelled(standing)
            yield from _unselective(standing.content)
        case CuredBy.UNCORDONING:
            machine = replace(standing.machine, unschedulable=False)
            yield CureProposal(
                (CureChange(CureKind.UNCORDON, machine=machine.name),), TrialChange(standing.content, machine)
            )
        case CuredBy.FEWER_CONSTRAINTS:
            for content, step in _dropped(standing.content):
                yield CureProposal((step,), TrialChange(content, standing.machine))


def one_more_like(standing: ChangedMachine, suffix: str = "") -> CureProposal:
    """Return the proposal of one more machine like this one, empty, and without the volumes that are in it."""
    like = standing.machine
    name = f"{like.name}-more{suffix}"
    labels = {**like.labels, HOSTNAME: name} if HOSTNAME in like.labels else dict(like.labels)
    offered = {
        key: amount
        for key, amount in like.allocatable.items()
        if lack_of(key).reason is not Reason.NO_VOLUME_LEFT
    }
    machine = replace(like, name=name, labels=labels, allocatable=offered, unschedulable=False, attached=())
    return CureProposal(
        (CureChange(CureKind.ADD_MACHINE, machine=like.name),), TrialChange(standing.content, machine)
    )


def lacking(standing: ChangedMachine) -> dict[str, tuple[int, int]]:
    """Return by resource what the task asks for and what is free, where that is less."""
    asked = {**dict(standing.content.requests), PODS: 1}
    return {
        resource: (amount, max(0, standing.free.get(resource, 0)))
        for resource, amount in sorted(asked.items())
        if amount > max(0, standing.free.get(resource, 0))
    }


def _smaller(standing: ChangedMachine) -> Iterator[CureProposal]:
    """Requests as large as what is free, where something is."""
    lacks = lacking(standing)
    if not _are_requested(lacks) or any(free == 0 for _, free in lacks.values()):
        return
    steps = [
        CureChange(CureKind.LOWER_REQUEST, resource, before=asked, after=free)
        for resource, (asked, free) in lacks.items()
    ]
    requests = tuple(
        (resource, lacks[resource][1] if resource in lacks else amount)
        for resource, amount in standing.content.requests
    )
    yield CureProposal(
        tuple(steps), TrialChange(replace(standing.content, requests=requests), standing.machine)
    )


def _larger(standing: ChangedMachine) -> Iterator[CureProposal]:
    """A machine that offers as much more as is lacking."""
    lacks = lacking(standing)
    if not _are_requested(lacks):
        return
    offered = dict(standing.machine.allocatable)
    steps = []
    for resource, (asked, _) in lacks.items():
        before = offered.get(resource, 0)
        offered[resource] = before + asked - standing.free.get(resource, 0)
        steps.append(
            CureChange(CureKind.ENLARGE_MACHINE, resource, standing.machine.name, before, offered[resource])
        )
    machine = replace(standing.machine, allocatable=offered)
    yield CureProposal(tuple(steps), TrialChange(standing.content, machine))


def _are_requested(lacks: Mapping[str, object]) -> bool:
    """Whether something is lacking, and all of it resources that people request and machines offer: no volumes."""
    return bool(lacks) and lacks_only_room([lack_of(resource) for resource in lacks])


def _tolerating(standing: ChangedMachine) -> Iterator[CureProposal]:
    """All taints of the machine that keep tasks away are tolerated."""
    content = standing.content
    hard = [
        taint
        for taint in standing.machine.taints
        if taint.effect != "PreferNoSchedule" and not tolerated(content.tolerations, taint)
    ]
    more = tuple(
        Toleration(taint.key, "Equal" if taint.value else "Exists", taint.value, taint.effect)
        for taint in hard
    )
    if hard:
        steps = tuple(
            CureChange(CureKind.TOLERATE, _written(each.key, each.value, each.effect)) for each in hard
        )
        changed = replace(content, tolerations=(*content.tolerations, *more))
        yield CureProposal(steps, TrialChange(changed, standing.machine))


def _labelled(standing: ChangedMachine) -> Iterator[CureProposal]:
    """The machine gets the labels that the task's selectors ask for."""
    before = standing.machine.labels
    labels = labels_that_match(standing.content, before)
    if labels is None:
        return
    keys = sorted(key for key in {*labels, *before} if labels.get(key) != before.get(key))
    steps = tuple(
        CureChange(CureKind.LABEL_MACHINE, key, standing.machine.name, before.get(key), labels.get(key))
        for key in keys
    )
    if steps:
        yield CureProposal(steps, TrialChange(standing.content, replace(standing.machine, labels=labels)))


def _corrected(standing: ChangedMachine, offered: Mapping[str, Collection[str]]) -> Iterator[CureProposal]:
    """A label that is asked for, and that no machine has, is meant to be one that this machine has."""
    for content, rule, before, after in corrections(standing.content, standing.machine.labels, offered):
        step = CureChange(CureKind.CORRECT, rule, before="=".join(before), after="=".join(after))
        yield CureProposal((step,), TrialChange(content, standing.machine))


def _unselective(content: TaskClass) -> Iterator[CureProposal]:
    """One entry of the selector, or the required affinity to machines, less."""
    for index, (key, value) in enumerate(content.node_selector):
        rest = _without(content.node_selector, index)
        step = CureChange(CureKind.DROP, f"nodeSelector {key}={value}")
        yield CureProposal((step,), TrialChange(replace(content, node_selector=rest)))
    if content.required:
        step = CureChange(CureKind.DROP, "required nodeAffinity")
        yield CureProposal((step,), TrialChange(replace(content, required=())))


def _dropped(content: TaskClass) -> Iterator[tuple[TaskClass, CureChange]]:
    """One rule about other tasks, or one host port, less."""
    for index, term in enumerate(content.anti_affinity):
        step = CureChange(CureKind.DROP, f"required podAntiAffinity by {term.topology_key}", before=index)
        yield replace(content, anti_affinity=_without(content.anti_affinity, index)), step
    for index, term in enumerate(content.affinity):
        step = CureChange(CureKind.DROP, f"required podAffinity by {term.topology_key}", before=index)
        yield replace(content, affinity=_without(content.affinity, index)), step
    for index, rule in enumerate(content.spread):
        if rule.required:
            subject = f"topologySpreadConstraint by {rule.topology_key}"
            wider = replace(rule, max_skew=rule.max_skew + 1)
            rules = (*content.spread[:index], wider, *content.spread[index + 1 :])
            step = CureChange(CureKind.WIDEN, subject, before=index, after=wider.max_skew)
            yield replace(content, spread=rules), step
            step = CureChange(CureKind.DROP, subject, before=index)
            yield replace(content, spread=_without(content.spread, index)), step
    for index, port in enumerate(content.ports):
        step = CureChange(CureKind.DROP, f"hostPort {port.port}/{port.protocol}")
        yield replace(content, ports=_without(content.ports, index)), step


def _without(rules: tuple[T, ...], index: int) -> tuple[T, ...]:
    return (*rules[:index], *rules[index + 1 :])


def _written(key: str, value: str, effect: str) -> str:
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"


def labels_that_match(content: TaskClass, labels: Mapping[str, str]) -> dict[str, str] | None:
    """Return a machine's labels with the fewest changes after which they match; None if none do.

    Of the required terms one is to match. Terms about fields, and comparisons of numbers, are left alone.
    """
    selected = {**labels, **dict(content.node_selector)}
    if not content.required:
        return selected
    keep = dict(content.node_selector)
    found = [each for term in content.required if (each := _matching(term, selected, keep)) is not None]
    return min(found, key=lambda each: _changes(each, labels), default=None)


def _changes(one: Mapping[str, str], other: Mapping[str, str]) -> int:
    return sum(one.get(key) != other.get(key) for key in {*one, *other})


def _matching(
    term: NodeSelectorTerm, labels: Mapping[str, str], keep: Mapping[str, str]
) -> dict[str, str] | None:
    """The labels with a term's requirements met; None if they cannot be. What is in ``keep`` must not change."""
    if term.fields or not term.labels:
        return None
    changed = dict(labels)
    for requirement in term.labels:
        key, value = requirement.key, changed.get(requirement.key)
        match requirement.operator:
            case "In" if value not in requirement.values:
                if not requirement.values:
                    return None
                changed[key] = requirement.values[0]
            case "Exists" if value is None:
                changed[key] = "true"
            case "NotIn" if value in requirement.values:
                del changed[key]
            case "DoesNotExist" if value is not None:
                del changed[key]
            case "Gt" | "Lt":
                return None
    return changed if all(changed.get(key) == value for key, value in keep.items()) else None
