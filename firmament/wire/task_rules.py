"""Decodes the rules between tasks: affinity terms, topology spread and ports of the machine."""

from __future__ import annotations

from collections.abc import Iterable

from firmament.core.model import PROTOCOLS, HostPort, SpreadRule, TaskSelector, TaskTerm
from firmament.wire.checks import SET_OPERATORS, refuse, required, requirements
from protos.firmament.v1 import scheduler_pb2 as pb

_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - compared with, never listened on


def task_terms(
    subject: str, field: str, messages: Iterable[pb.TaskTerm], *, weighted: bool = False
) -> tuple[TaskTerm, ...]:
    """Return affinity terms; ``weighted`` ones need a weight. Raises ``InvalidEventError``."""
    terms = []
    for index, message in enumerate(messages):
        where = f"{field}[{index}]"
        if weighted and not 1 <= message.weight <= 100:
            raise refuse(subject, f"{where}.weight", f"{message.weight} is out of range; use 1 to 100")
        terms.append(
            TaskTerm(
                required(f"{subject}: {where}", "topology_key", message.topology_key),
                _selector(subject, f"{where}.selector", message.selector),
                message.weight if weighted else 0,
            )
        )
    return tuple(terms)


def spread_rules(subject: str, field: str, messages: Iterable[pb.SpreadRule]) -> tuple[SpreadRule, ...]:
    """Return topology spread rules. Raises ``InvalidEventError``."""
    rules = []
    for index, message in enumerate(messages):
        where = f"{field}[{index}]"
        if message.max_skew < 1:
            raise refuse(subject, f"{where}.max_skew", f"{message.max_skew} is out of range; use 1 or more")
        if message.min_domains < 0:
            raise refuse(subject, f"{where}.min_domains", f"{message.min_domains} is negative; use 0 or more")
        if message.min_domains and not message.required:
            raise refuse(subject, f"{where}.min_domains", "is given; only required rules take it")
        rules.append(
            SpreadRule(
                topology_key=required(f"{subject}: {where}", "topology_key", message.topology_key),
                selector=_selector(subject, f"{where}.selector", message.selector),
                max_skew=message.max_skew,
                required=message.required,
                min_domains=message.min_domains,
                ignore_node_affinity=message.ignore_node_affinity,
                honor_taints=message.honor_taints,
            )
        )
    return tuple(rules)


def ports(subject: str, field: str, messages: Iterable[pb.HostPort]) -> tuple[HostPort, ...]:
    """Return the machine's ports that a task takes, without repetition. Raises ``InvalidEventError``."""
    taken = set()
    for index, message in enumerate(messages):
        where = f"{field}[{index}]"
        protocol = message.protocol or "TCP"
        if not 1 <= message.port <= 65535:
            raise refuse(subject, f"{where}.port", f"{message.port} is out of range; use 1 to 65535")
        if protocol not in PROTOCOLS:
            allowed = ", ".join(sorted(PROTOCOLS))
            raise refuse(
                subject, f"{where}.protocol", f"{protocol!r} is not a protocol; use one of {allowed}"
            )
        ip = "" if message.ip == _ALL_ADDRESSES else message.ip
        taken.add((message.port, protocol, ip))
    return tuple(HostPort(*each) for each in sorted(taken))


def _selector(subject: str, field: str, message: pb.TaskSelector) -> TaskSelector:
    by_label = None
    if message.HasField("namespaces_by_label"):
        by_label = requirements(
            subject,
            f"{field}.namespaces_by_label",
            message.namespaces_by_label.labels,
            operators=SET_OPERATORS,
        )
    return TaskSelector(
        labels=requirements(subject, f"{field}.labels", message.labels, operators=SET_OPERATORS),
        nothing=message.nothing,
        namespaces=tuple(sorted(set(message.namespaces))),
        namespace_labels=by_label,
    )
