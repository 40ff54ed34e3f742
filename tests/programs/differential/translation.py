"""A case as the core's events. The only module here that knows the core's model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from firmament.core.events import (
    ClassDefined,
    Event,
    MachineUpserted,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import (
    HostPort,
    Machine,
    NodeSelectorTerm,
    PreferredTerm,
    Requirement,
    SpreadRule,
    Taint,
    TaskClass,
    TaskSelector,
    TaskTerm,
    Toleration,
    VolumeRule,
)
from firmament.core.record_kinds import NAMESPACE_RECORD
from tests.programs.differential import world


@dataclass
class Classes:
    """Numbers of the classes told so far. A spec is known by its name, so no two may share one."""

    numbers: dict[tuple[str, bool], int] = field(default_factory=dict)
    specs: dict[str, world.PodSpec] = field(default_factory=dict)

    def number(self, spec: world.PodSpec, events: list[Event], *, terminating: bool = False) -> int:
        """The number of a spec's class; a new one is defined in ``events``."""
        assert self.specs.setdefault(spec.name, spec) == spec, f"two specs are called {spec.name}"
        key = (spec.name, terminating)
        if key not in self.numbers:
            self.numbers[key] = len(self.numbers) + 1
            events.append(ClassDefined(self.numbers[key], task_class(spec, terminating=terminating)))
        return self.numbers[key]

    def submitted(
        self, waiting: Mapping[str, world.PodSpec], priority_of: Callable[[world.PodSpec], int] = lambda _: 0
    ) -> list[Event]:
        """Events that submit pods, in order of uid within each class."""
        events: list[Event] = []
        uids: dict[int, list[str]] = {}
        priorities: dict[int, int] = {}
        for uid, spec in waiting.items():
            number = self.number(spec, events)
            uids.setdefault(number, []).append(uid)
            priorities[number] = priority_of(spec)
        events.extend(
            TasksSubmitted(number, tuple(members), priority=priorities[number])
            for number, members in uids.items()
        )
        return events

    def bound(self, pods: Mapping[str, world.Pod]) -> list[Event]:
        """Events that tell of pods on their nodes."""
        events: list[Event] = []
        for uid, pod in pods.items():
            number = self.number(pod.spec, events, terminating=pod.terminating)
            events.append(TasksBound(pod.node, number, (uid,)))
        return events


def namespaces(labels: Mapping[str, Mapping[str, str]]) -> list[Event]:
    """Records of namespaces."""
    return [
        RecordUpserted(NAMESPACE_RECORD, name, json.dumps({"labels": dict(content)}).encode())
        for name, content in labels.items()
    ]


def machines(nodes: Iterable[world.Node]) -> list[Event]:
    """Events that add nodes."""
    return [
        MachineUpserted(
            Machine(
                node.name,
                dict(node.allocatable),
                labels=dict(node.labels),
                taints=tuple(Taint(*taint) for taint in node.taints),
                unschedulable=node.unschedulable,
                not_ready=node.not_ready,
            )
        )
        for node in nodes
    ]


def task_class(spec: world.PodSpec, *, terminating: bool = False) -> TaskClass:
    """A spec in the core's words."""
    return TaskClass(
        requests=tuple(sorted(spec.requests.items())),
        node_selector=tuple(sorted(spec.node_selector.items())),
        required=tuple(map(_node_term, spec.node_terms or ())),
        preferred=tuple(PreferredTerm(weight, _node_term(term)) for weight, term in spec.preferred_nodes),
        tolerations=tuple(Toleration(*toleration) for toleration in spec.tolerations),
        namespace=spec.namespace,
        labels=tuple(sorted(spec.labels.items())),
        machine=spec.node_name,
        affinity=tuple(map(_task_term, spec.affinity)),
        anti_affinity=tuple(map(_task_term, spec.anti_affinity)),
        preferred_affinity=tuple(map(_task_term, spec.preferred_affinity)),
        preferred_anti_affinity=tuple(map(_task_term, spec.preferred_anti_affinity)),
        spread=tuple(_spread(rule, spec.namespace) for rule in spec.spreads),
        ports=tuple(HostPort(*port) for port in spec.ports),
        volumes=tuple(VolumeRule(tuple(map(_node_term, terms))) for terms in spec.volumes),
        terminating=terminating,
    )


def _requirements(given: Iterable[world.Requirement]) -> tuple[Requirement, ...]:
    return tuple(Requirement(*each) for each in given)


def _node_term(term: world.NodeTerm) -> NodeSelectorTerm:
    return NodeSelectorTerm(_requirements(term.labels), _requirements(term.fields))


def _selector(
    labels: tuple[world.Requirement, ...] | None,
    names: tuple[str, ...],
    by_label: tuple[world.Requirement, ...] | None = None,
) -> TaskSelector:
    return TaskSelector(
        labels=_requirements(labels or ()),
        nothing=labels is None,
        namespaces=names,
        namespace_labels=None if by_label is None else _requirements(by_label),
    )


def _task_term(term: world.PodTerm) -> TaskTerm:
    return TaskTerm(
        term.key, _selector(term.selector, term.namespaces, term.namespace_selector), weight=term.weight
    )


def _spread(rule: world.Spread, namespace: str) -> SpreadRule:
    """kube-scheduler takes an empty selector of a spread to count no pod, so it is told as one that selects none."""
    return SpreadRule(
        topology_key=rule.key,
        selector=_selector(rule.selector or None, (namespace,)),
        max_skew=rule.max_skew,
        required=rule.do_not_schedule,
        min_domains=rule.min_domains if rule.do_not_schedule and rule.min_domains > 1 else 0,
        ignore_node_affinity=not rule.honor_affinity,
        honor_taints=rule.honor_taints,
    )
