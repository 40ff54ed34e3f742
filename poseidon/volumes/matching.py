"""Decides whether a volume suits a claim, and whether a machine can reach a volume."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from poseidon.volumes.records import Condition, Profile, UnclaimedVolume
from protos.firmament.v1 import scheduler_pb2 as pb

HOSTNAME = "kubernetes.io/hostname"

Rules = tuple[bytes, ...]
"""Encoded ``VolumeRule`` messages; a machine must satisfy all of them."""

_Terms = tuple[tuple[tuple["Condition", ...], tuple["Condition", ...]], ...]


def suits(unclaimed: UnclaimedVolume, profile: Profile) -> bool:
    """Return whether a volume suits a claim's profile: by class, size, modes and labels.

    The rules are those of ``FindMatchingVolume`` of Kubernetes' component helpers.
    """
    return (
        unclaimed.storage_class == profile.storage_class
        and unclaimed.attributes_class == profile.attributes_class
        and unclaimed.size >= profile.size
        and unclaimed.volume_mode == profile.volume_mode
        and set(profile.modes) <= set(unclaimed.modes)
        and all(holds(condition, unclaimed.labels) for condition in profile.conditions)
    )


def implies(profile: Profile, other: Profile) -> bool:
    """Return whether each volume that suits ``profile`` also suits ``other``, as far as their fields show."""
    return (
        profile.storage_class == other.storage_class
        and profile.attributes_class == other.attributes_class
        and profile.size >= other.size
        and profile.volume_mode == other.volume_mode
        and set(other.modes) <= set(profile.modes)
        and set(other.conditions) <= set(profile.conditions)
    )


def reaches(rules: Rules, name: str, labels: Mapping[str, str]) -> bool:
    """Return whether a machine of this name and these labels satisfies all rules."""
    return all(any(_term_holds(term, name, labels) for term in _terms(rule)) for rule in rules)


def list_hosts(rules: Rules) -> frozenset[str] | None:
    """Return the host names to which a rule restricts machines, None if no rule does."""
    for rule in rules:
        named = [_hosts_of(labels) for labels, _ in _terms(rule)]
        if named and all(values is not None for values in named):
            return frozenset(value for values in named for value in values or ())
    return None


def _hosts_of(conditions: tuple[Condition, ...]) -> tuple[str, ...] | None:
    return next((each[2] for each in conditions if each[:2] == (HOSTNAME, "In")), None)


@lru_cache(maxsize=65_536)
def _terms(rule: bytes) -> _Terms:
    """Decode the terms of a rule; each is (conditions on labels, conditions on fields)."""
    message = pb.VolumeRule.FromString(rule)
    return tuple(
        (
            tuple((each.key, each.operator, tuple(each.values)) for each in term.labels),
            tuple((each.key, each.operator, tuple(each.values)) for each in term.fields),
        )
        for term in message.terms
    )


def _term_holds(
    term: tuple[tuple[Condition, ...], tuple[Condition, ...]], name: str, labels: Mapping[str, str]
) -> bool:
    on_labels, on_fields = term
    if not on_labels and not on_fields:
        return False
    fields = {"metadata.name": name}
    return all(holds(each, labels) for each in on_labels) and all(holds(each, fields) for each in on_fields)


def holds(condition: Condition, labels: Mapping[str, str]) -> bool:
    """Return whether labels satisfy a condition; NotIn also holds if the label is missing."""
    key, operator, values = condition
    found = labels.get(key)
    if operator == "In":
        return found in values
    if operator == "NotIn":
        return found not in values
    if operator == "Exists":
        return found is not None
    if operator == "DoesNotExist":
        return found is None
    return found is not None and _compares(found, operator, values)


def _compares(found: str, operator: str, values: tuple[str, ...]) -> bool:
    """Return whether a comparison by Gt or Lt holds; False if one of the values is no integer."""
    try:
        left, right = int(found), int(values[0])
    except (ValueError, IndexError):
        return False
    return left > right if operator == "Gt" else operator == "Lt" and left < right
