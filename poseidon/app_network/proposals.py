"""Compares an object with its wanted status and spec, and makes its conditions, its patch, and messages for events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from poseidon.app_network.last_good_specs import LAST_GOOD, Kept
from poseidon.app_network.spec.keys import APP_GROUP_KIND, TOPOLOGY_KIND, ObjectKey
from poseidon.kube.api.collections import APP_GROUP_VERSION, TOPOLOGY_VERSION
from poseidon.kube.api.event_reasons import ConditionType, EventReason
from poseidon.kube.api.metadata import ObjectRef
from poseidon.kube.parsing.defects import Defect, list_defects
from poseidon.kube.parsing.strict_json import compact

MOST_SHOWN = 5
"""The largest number of an object's defects that a message names."""

_VERSIONS = {APP_GROUP_KIND: APP_GROUP_VERSION, TOPOLOGY_KIND: TOPOLOGY_VERSION}
_TIMES = ("topologyCalculationTime", "weightCalculationTime", "scheduleStartTime", "lastTransitionTime")


@dataclass(frozen=True, slots=True)
class Finding:
    """A condition for an object's status: its type, whether it is true, a reason in one word, and a message.

    ``warns``: whether the bridge also sends an event; ``reason`` is then an ``EventReason``.
    """

    type: ConditionType
    holds: bool
    reason: str
    message: str
    warns: bool = False


def judge_validity(defects: Sequence[Defect], *, in_force: bool) -> Finding:
    """Return the condition that says whether a spec is valid; ``in_force``: whether some spec is in force."""
    if not defects:
        return Finding(ConditionType.VALID, True, "Accepted", "the spec is in force")
    state = "the last good spec stays in force" if in_force else "nothing is in force"
    return Finding(
        ConditionType.VALID,
        False,
        EventReason.INVALID_SPEC,
        f"{list_defects(defects, MOST_SHOWN)}; {state}",
        warns=True,
    )


def merge_conditions(existing: Any, findings: Iterable[Finding], now: str) -> list[dict[str, Any]]:
    """Return an object's conditions: one for each finding, and the existing conditions of other types, unchanged.

    The time of a transition changes only with the status of the condition. ``now`` is RFC 3339.
    """
    former = [each for each in existing if isinstance(each, dict)] if isinstance(existing, list) else []
    wanted = {each.type: each for each in findings}
    result = [each for each in former if each.get("type") not in wanted]
    for finding in wanted.values():
        status = "True" if finding.holds else "False"
        before = condition_of(former, finding.type)
        since = before.get("lastTransitionTime") if before.get("status") == status else None
        result.append(
            {
                "type": finding.type,
                "status": status,
                "reason": finding.reason,
                "message": finding.message,
                "lastTransitionTime": since or now,
            }
        )
    return result


def condition_of(existing: Any, kind: str) -> dict[str, Any]:
    """Return an object's condition of a type, {} if it has none."""
    if isinstance(existing, list):
        for each in existing:
            if isinstance(each, dict) and each.get("type") == kind:
                return each
    return {}


class Notice(NamedTuple):
    """A message about an object, which is sent as an event."""

    key: ObjectKey
    uid: str
    reason: EventReason
    message: str

    @property
    def about(self) -> ObjectRef:
        """The reference to the object, for the event."""
        kind, namespace, name = self.key
        return ObjectRef(_VERSIONS[kind], kind, self.uid, namespace, name)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A merge patch for an object that still has the version ``version``; a part that stays unchanged is None."""

    key: ObjectKey
    uid: str
    version: str
    spec: Mapping[str, Any] | None = None
    status: Mapping[str, Any] | None = None
    annotations: Mapping[str, str | None] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the proposal changes nothing."""
        return self.spec is None and self.status is None and self.annotations is None

    @property
    def wanted(self) -> bytes:
        """The content of the proposal without times, to compare proposals."""
        return compact(_timeless([self.spec, self.status, self.annotations]))


def propose(
    kept: Kept[Any, Any],
    findings: Sequence[Finding],
    status: Mapping[str, Any],
    now: str,
    spec: Mapping[str, Any] | None = None,
) -> tuple[Proposal, list[Notice]]:
    """Return the patch for an object, and messages to send as events; ``now`` is RFC 3339.

    The findings become conditions of the status. Keys that are not in ``status`` and ``spec`` stay unchanged in the
    object.
    """
    metadata = kept.object.metadata
    given = kept.object.spec if isinstance(kept.object.spec, dict) else {}
    status = {**status, "conditions": merge_conditions(kept.status.get("conditions"), findings, now)}
    new_status = {name: value for name, value in status.items() if kept.status.get(name) != value}
    new_spec = {name: value for name, value in (spec or {}).items() if given.get(name) != value}
    annotation = kept.annotation()
    changed = annotation != metadata.annotations.get(LAST_GOOD)
    proposal = Proposal(
        key=kept.key,
        uid=metadata.uid,
        version=metadata.resource_version,
        spec=new_spec or None,
        status=new_status or None,
        annotations={LAST_GOOD: annotation} if changed else None,
    )
    return proposal, list_notices(kept, findings)


def list_notices(kept: Kept[Any, Any], findings: Iterable[Finding]) -> list[Notice]:
    """Return the messages that neither this process nor, as the conditions show, an earlier process has sent."""
    existing = kept.status.get("conditions")
    news = []
    current = set()
    for finding in findings:
        if not finding.warns:
            continue
        current.add(finding.message)
        shown = condition_of(existing, finding.type).get("message") == finding.message
        if finding.message not in kept.sent and not shown:
            news.append(Notice(kept.key, kept.uid, EventReason(finding.reason), finding.message))
    kept.sent = current
    return news


def _timeless(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _timeless(each) for name, each in value.items() if name not in _TIMES}
    if isinstance(value, list | tuple):
        return [_timeless(each) for each in value]
    return value
