"""Metadata, statuses and conditions: what objects of all kinds bear."""

from __future__ import annotations

from msgspec import field

from poseidon.kube.api.base import Integer, KubeStruct


class OwnerReference(KubeStruct, frozen=True):
    """Who created an object; the one with ``controller`` set manages it."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(KubeStruct, frozen=True):
    """Metadata. Times are RFC 3339 text as sent; ``deletion_timestamp`` is set once deletion is asked for."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None

    def controller(self) -> OwnerReference | None:
        """Return the owner that manages the object, or None."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class ListMeta(KubeStruct, frozen=True):
    """Metadata of a list: its version, and the token of the next page ("" on the last)."""

    resource_version: str = ""
    continue_token: str = field(default="", name="continue")
    remaining_item_count: Integer | None = None


class StatusDetails(KubeStruct, frozen=True):
    """Details of a `Status`, as far as clients act on them."""

    name: str = ""
    kind: str = ""
    uid: str = ""
    retry_after_seconds: Integer = 0


class Status(KubeStruct, frozen=True):
    """What the API server answers instead of an object: an error, or the outcome of an action."""

    status: str = ""
    message: str = ""
    reason: str = ""
    code: Integer = 0
    details: StatusDetails = StatusDetails()


class Condition(KubeStruct, frozen=True):
    """A condition of a node or pod; ``status`` is "True", "False" or "Unknown"."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
