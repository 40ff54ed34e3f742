"""Label selectors by the letter of their documentation: slow, and nothing shared with the translation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from protos.firmament.v1 import scheduler_pb2 as pb


def holds(requirement: pb.Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    if requirement.operator == "In":
        return value is not None and value in requirement.values
    if requirement.operator == "NotIn":
        return value is None or value not in requirement.values
    if requirement.operator == "Exists":
        return value is not None
    assert requirement.operator == "DoesNotExist"
    return value is None


def matches(
    selector: pb.TaskSelector,
    namespace: str,
    labels: Mapping[str, str],
    namespaces: Mapping[str, Mapping[str, str]],
) -> bool:
    """Whether a task of these labels in a namespace is selected; ``namespaces`` have labels of their own."""
    if selector.nothing or not all(holds(each, labels) for each in selector.labels):
        return False
    if namespace in selector.namespaces:
        return True
    if not selector.HasField("namespaces_by_label"):
        return False
    own = namespaces.get(namespace, {})
    return all(holds(each, own) for each in selector.namespaces_by_label.labels)


def selectors_of(rules: pb.TaskClass) -> Iterable[pb.TaskSelector]:
    for term in (
        *rules.affinity,
        *rules.anti_affinity,
        *rules.preferred_affinity,
        *rules.preferred_anti_affinity,
    ):
        yield term.selector
    for rule in rules.spread:
        yield rule.selector
