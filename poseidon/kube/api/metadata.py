"""What objects of all kinds share: how their fields are read, metadata, statuses and conditions."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct, field

Number: TypeAlias = str | int | float
"""A quantity as written: API servers send strings, people write numbers too."""

Resources: TypeAlias = dict[str, Number]

SMALLEST, LARGEST = -(2**63), 2**63 - 1
Integer: TypeAlias = Annotated[int, Meta(ge=SMALLEST, le=LARGEST)]
"""A whole number as the API server stores them. Others are refused where objects are decoded, not where they are
reckoned with: some would be too large to be written again."""


class KubeStruct(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Base of all objects of the API, as far as a scheduler looks at them.

    Unknown fields are skipped while decoding, absent ones take Kubernetes' own defaults; `decoding` says how nulls
    and malformed objects are treated. Attributes are in snake_case, wire names in camelCase. Lists become tuples, so
    that an empty one costs nothing. They are trees, so nothing can leak through ``gc=False``.
    """


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


class StatusDetails(KubeStruct, frozen=True):
    """Details of a `Status`, as far as clients act on them."""

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
