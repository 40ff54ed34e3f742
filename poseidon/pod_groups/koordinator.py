"""Reads Koordinator's gangs from annotations of pods and of PodGroups of ``scheduling.sigs.k8s.io``.

The keys and their meanings are those of Koordinator's ``apis/extension/coscheduling.go`` and plugin Coscheduling.
Namespace and name identify a gang; a PodGroup with this name takes precedence over the annotations of its pods. Both
of Koordinator's modes have the same effect, because this scheduler places a gang's minimum or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.parsing.defects import shorten

LABEL = "pod-group.scheduling.sigs.k8s.io"
"""Label of a pod with the name of its PodGroup, and the prefix of older labels that describe the gang themselves."""

_PREFIX = "gang.scheduling.koordinator.sh/"
_NAME, _LEAST, _GROUPS = _PREFIX + "name", _PREFIX + "min-available", _PREFIX + "groups"
_WAITING_TIME, _MODE, _POLICY = _PREFIX + "waiting-time", _PREFIX + "mode", _PREFIX + "match-policy"
_TOPOLOGY = _PREFIX + "network-topology-spec"
_NAME_LABEL, _LEAST_LABEL, _OTHER_POLICY = f"{LABEL}/name", f"{LABEL}/min-available", f"{LABEL}/match-policy"

ANNOTATIONS = frozenset({_NAME, _LEAST, _GROUPS, _WAITING_TIME, _MODE, _POLICY, _TOPOLOGY, _OTHER_POLICY})
"""The annotations that are read."""

LABELS = frozenset({LABEL, _NAME_LABEL})
"""The labels that name a gang."""

_MODES, _POLICIES = ("Strict", "NonStrict"), ("once-satisfied", "waiting-and-running")

_COUNT = re.compile(r"[+-]?\d{1,10}", re.ASCII)
_DURATION = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_GANG = re.compile(r"[^/+]{1,63}/[^/+]{1,253}")
MOST_GANGS = 64
"""Most gangs that may be placed together."""


class GangTerms(NamedTuple):
    """The requirements of a gang, as a pod or PodGroup states them; "" if not stated."""

    least: str = ""
    """How many pods are placed together."""
    least_key: str = ""
    """The label or annotation that states ``least``, for people."""
    waiting_time: str = ""
    """Time within which the gang must be placed, as text."""
    mode: str = ""
    """The mode: Strict or NonStrict."""
    policy: str = ""
    """The match policy: which pods count as placed."""
    topology: str = ""
    """Requirements about network topology, which this scheduler ignores."""
    groups: str = ""
    """Gangs that are placed together with this gang, as JSON."""


NO_TERMS = GangTerms()


def gang_name(metadata: ObjectMeta) -> str:
    """Return the name of a pod's gang, which is in the pod's namespace; "" for none."""
    labels = metadata.labels
    return labels.get(LABEL) or labels.get(_NAME_LABEL) or metadata.annotations.get(_NAME, "")


def gang_terms(metadata: ObjectMeta) -> GangTerms:
    """Return the requirements of a gang that a pod or a PodGroup states."""
    labels, given = metadata.labels, metadata.annotations
    least_key = f"label {_LEAST_LABEL}" if labels.get(_LEAST_LABEL) else f"annotation {_LEAST}"
    least = labels.get(_LEAST_LABEL) or given.get(_LEAST)
    return GangTerms(
        least="" if least is None else least or '""',
        least_key="" if least is None else least_key,
        waiting_time=given.get(_WAITING_TIME, ""),
        mode=given.get(_MODE, ""),
        policy=given.get(_POLICY) or given.get(_OTHER_POLICY, ""),
        topology=given.get(_TOPOLOGY, ""),
        groups=given.get(_GROUPS, ""),
    )


def list_bundled_gangs(terms: GangTerms, own: str) -> tuple[tuple[str, ...], str]:
    """Return the gangs (``namespace/name``, sorted) that are placed together with ``own``, () if ``own`` is alone.

    The result includes the gang ``own`` itself. The second value says what is wrong with the annotation, "" if it is
    right.
    """
    if not terms.groups.strip():
        return (), ""
    try:
        found = msgspec.json.decode(terms.groups, type=tuple[str, ...])
    except (msgspec.DecodeError, RecursionError):
        found = ()
        problem = f"{shorten(repr(terms.groups))} is no list of gangs"
    else:
        odd = next((each for each in (*found, own or "any/any") if not _GANG.fullmatch(each)), None)
        problem = "" if odd is None else f"{shorten(repr(odd))} is no gang"
        if len(found) > MOST_GANGS:
            problem = f"{len(found)} gangs are more than {MOST_GANGS}"
    if problem:
        return (), f'annotation {_GROUPS}: {problem}; give ["namespace/name", ...]'
    gangs = tuple(sorted({*found, own})) if found else ()
    return (gangs if len(gangs) > 1 else ()), ""


def least_members(stated: Iterable[GangTerms]) -> tuple[int | None, str]:
    """Return how many pods of a gang are placed together; None if no pod states it.

    The largest stated number counts. The second value says what is wrong with one of the numbers, "" if both are
    right.
    """
    most: int | None = None
    for terms in sorted(set(stated)):
        if not terms.least:
            continue
        count = int(terms.least) if _COUNT.fullmatch(terms.least) else None
        if count is None or not 1 <= count < 2**31:
            shown = terms.least if terms.least == '""' else shorten(repr(terms.least))
            return None, f"{terms.least_key}: {shown} is no number of pods; give at least 1"
        most = count if most is None else max(most, count)
    return most, ""


def waiting_seconds(stated: Iterable[GangTerms]) -> float:
    """Return the seconds within which a gang must be placed: the longest stated time; 0.0: as configured."""
    return max((_seconds(terms.waiting_time) or 0.0 for terms in set(stated)), default=0.0)


def list_ignored_terms(stated: Iterable[GangTerms]) -> str:
    """Return, for people, the stated requirements of a gang that this scheduler ignores, "" for none."""
    found: dict[str, None] = {}
    for terms in sorted(set(stated)):
        checks: Mapping[str, str] = {
            _WAITING_TIME: "is no duration, and the configured time-out holds"
            if terms.waiting_time and _seconds(terms.waiting_time) is None
            else "",
            _MODE: "is no mode, and counts as Strict" if terms.mode not in ("", *_MODES) else "",
            _POLICY: "is not honoured: members that run count as well"
            if terms.policy not in ("", *_POLICIES)
            else "",
            _TOPOLOGY: "is not honoured; use a topology group, or a PodGroup of Kubernetes"
            if terms.topology
            else "",
        }
        values = terms.waiting_time, terms.mode, terms.policy, ""
        for (key, problem), value in zip(checks.items(), values, strict=True):
            if problem:
                shown = f" {shorten(repr(value))}" if value else ""
                found[f"annotation {key}:{shown} {problem}"] = None
    return "; ".join(found)


def _seconds(text: str) -> float | None:
    """Return the seconds of a duration in Go's format, such as 1m30s; None for any other text."""
    parts = _DURATION.findall(text)
    if not parts or "".join(parts) != text or len(text) > 64:
        return None
    total = sum(float(part.rstrip("nuµμmsh")) * _SECONDS[part.lstrip("0123456789.")] for part in parts)
    return total if 0 < total < 2**31 else None
