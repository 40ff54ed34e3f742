"""What an object should say, as against what it says: the patch that makes it so, and what people are told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from poseidon.app_network.findings import Finding, condition_of
from poseidon.app_network.good_state import LAST_GOOD
from poseidon.app_network.spec.keys import APP_GROUP_KIND
from poseidon.app_network.spec.ordering import compact
from poseidon.kube.api.collections import APP_GROUP_VERSION, TOPOLOGY_VERSION
from poseidon.kube.api.references import ObjectRef

if TYPE_CHECKING:
    from poseidon.app_network.good_state import Kept

_TIMES = ("topologyCalculationTime", "weightCalculationTime", "scheduleStartTime", "lastTransitionTime")


class ObjectKey(NamedTuple):
    """An object of one of the two kinds."""

    kind: str
    namespace: str
    name: str


class Notice(NamedTuple):
    """Something that people are told about an object, as an event."""

    key: ObjectKey
    uid: str
    reason: str
    message: str

    @property
    def about(self) -> ObjectRef:
        """The object."""
        version = APP_GROUP_VERSION if self.key.kind == APP_GROUP_KIND else TOPOLOGY_VERSION
        return ObjectRef(version, self.key.kind, self.uid, self.key.namespace, self.key.name)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A merge patch for an object that is still at ``version``; each part is None where nothing is to change.

    ``wanted`` tells two proposals apart whatever times they hold.
    """

    key: ObjectKey
    uid: str
    version: str
    spec: Mapping[str, Any] | None = None
    status: Mapping[str, Any] | None = None
    annotations: Mapping[str, str | None] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the object says already what it should."""
        return self.spec is None and self.status is None and self.annotations is None

    @property
    def wanted(self) -> bytes:
        """The content without times."""
        return compact(_timeless([self.spec, self.status, self.annotations]))


def propose(
    key: ObjectKey,
    kept: Kept[Any, Any],
    status: Mapping[str, Any],
    spec: Mapping[str, Any] | None = None,
) -> Proposal:
    """Return what is left to write of what an object should say; keys that are not given are not touched."""
    metadata = kept.object.metadata
    given = kept.object.spec if isinstance(kept.object.spec, dict) else {}
    new_status = {name: value for name, value in status.items() if kept.status.get(name) != value}
    new_spec = {name: value for name, value in (spec or {}).items() if given.get(name) != value}
    annotation = kept.annotation()
    changed = annotation != metadata.annotations.get(LAST_GOOD)
    return Proposal(
        key=key,
        uid=metadata.uid,
        version=metadata.resource_version,
        spec=new_spec or None,
        status=new_status or None,
        annotations={LAST_GOOD: annotation} if changed else None,
    )


def notices(key: ObjectKey, kept: Kept[Any, Any], findings: Iterable[Finding]) -> list[Notice]:
    """Return what people have not been told yet: neither by this process nor, as the object shows, by a former one."""
    existing = kept.status.get("conditions")
    news = []
    current = set()
    for finding in findings:
        if not finding.warns:
            continue
        current.add(finding.message)
        shown = condition_of(existing, finding.type).get("message") == finding.message
        if finding.message not in kept.told and not shown:
            news.append(Notice(key, kept.uid, finding.reason, finding.message))
    kept.told = current
    return news


def _timeless(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _timeless(each) for name, each in value.items() if name not in _TIMES}
    if isinstance(value, list | tuple):
        return [_timeless(each) for each in value]
    return value
