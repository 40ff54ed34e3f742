"""Decodes task classes: requests, selectors of machines, and tolerations; rules between tasks are in ``task_rules``."""

from __future__ import annotations

from collections.abc import Mapping

from firmament.core.model import (
    EFFECTS,
    QOS_CLASSES,
    Container,
    PreferredTerm,
    TaskClass,
    Toleration,
)
from firmament.wire.checks import quantities, refuse
from firmament.wire.requirements import node_term, node_terms
from firmament.wire.task_rules import ports, spread_rules, task_terms
from protos.firmament.v1 import scheduler_pb2 as pb

_CONTAINER_KINDS = {pb.Container.APP: "app", pb.Container.INIT: "init", pb.Container.SIDECAR: "sidecar"}
_EFFECT_LIST = ", ".join(sorted(EFFECTS))


def class_from_proto(message: pb.TaskClass) -> tuple[int, TaskClass]:
    """Return the class and the number that the client gave it. Raises ``InvalidEventError``.

    The rules of a class that calls itself invalid are dropped unread: its tasks are never placed, and what is
    wrong with them is often one of these rules.
    """
    if not message.id:
        raise refuse("TaskClass", "id", "is 0; number classes from 1")
    subject = f"TaskClass {message.id}"
    rules = pb.TaskClass() if message.invalid else message
    return message.id, TaskClass(
        requests=tuple(sorted(quantities(subject, "requests", message.requests).items())),
        node_selector=_pairs(rules.node_selector),
        required=node_terms(subject, "required", rules.required),
        preferred=tuple(
            _preferred(subject, f"preferred[{i}]", term) for i, term in enumerate(rules.preferred)
        ),
        tolerations=tuple(_toleration(subject, i, each) for i, each in enumerate(rules.tolerations)),
        namespace=message.namespace,
        labels=_pairs(message.labels),
        annotations=_pairs(message.annotations),
        machine=message.machine,
        invalid=message.invalid,
        affinity=task_terms(subject, "affinity", rules.affinity),
        anti_affinity=task_terms(subject, "anti_affinity", rules.anti_affinity),
        preferred_affinity=task_terms(subject, "preferred_affinity", rules.preferred_affinity, weighted=True),
        preferred_anti_affinity=task_terms(
            subject, "preferred_anti_affinity", rules.preferred_anti_affinity, weighted=True
        ),
        spread=spread_rules(subject, rules.spread),
        ports=ports(subject, message.ports),
        volumes=tuple(
            node_terms(subject, f"volumes[{i}].terms", volume.terms) for i, volume in enumerate(rules.volumes)
        ),
        images=tuple(message.images),
        terminating=message.terminating,
        never_preempts=message.never_preempts,
        containers=tuple(_container(subject, i, each) for i, each in enumerate(message.containers)),
        qos=_qos(subject, message.qos),
        overhead=tuple(sorted(quantities(subject, "overhead", message.overhead).items())),
        limits=tuple(sorted(quantities(subject, "limits", message.limits).items())),
        service_class=message.service_class,
        daemon=message.daemon,
    )


def check_effect(subject: str, field: str, effect: str) -> str:
    """Return a taint's effect, or raise if it is none that Kubernetes knows."""
    if effect not in EFFECTS:
        raise refuse(subject, f"{field}.effect", f"{effect!r} is not an effect; use one of {_EFFECT_LIST}")
    return effect


def _pairs(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(values.items()))


def _preferred(subject: str, field: str, message: pb.PreferredTerm) -> PreferredTerm:
    if not 1 <= message.weight <= 100:
        raise refuse(subject, f"{field}.weight", f"{message.weight} is out of range; use 1 to 100")
    return PreferredTerm(message.weight, node_term(subject, f"{field}.term", message.term))


def _container(subject: str, index: int, message: pb.Container) -> Container:
    field = f"containers[{index}]"
    kind = _CONTAINER_KINDS.get(message.kind)
    if kind is None:
        raise refuse(subject, f"{field}.kind", f"{message.kind} is not a kind; use APP, INIT or SIDECAR")
    requests = quantities(subject, f"{field}.requests", message.requests)
    limits = quantities(subject, f"{field}.limits", message.limits)
    return Container(message.name, kind, tuple(sorted(requests.items())), tuple(sorted(limits.items())))


def _qos(subject: str, qos: str) -> str:
    if qos and qos not in QOS_CLASSES:
        allowed = ", ".join(sorted(QOS_CLASSES))
        raise refuse(subject, "qos", f"{qos!r} is not a QoS class; use one of {allowed}, or none")
    return qos


def _toleration(subject: str, index: int, message: pb.Toleration) -> Toleration:
    field = f"tolerations[{index}]"
    operator = message.operator or "Equal"
    if operator not in {"Equal", "Exists"}:
        raise refuse(subject, f"{field}.operator", f"{operator!r} is not an operator; use Equal or Exists")
    if not message.key and operator != "Exists":
        raise refuse(subject, f"{field}.key", "is empty; only Exists takes every key")
    if message.effect:
        check_effect(subject, field, message.effect)
    return Toleration(message.key, operator, message.value, message.effect)
