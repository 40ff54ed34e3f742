"""What objects of all kinds share: how fields are read, metadata, statuses, conditions, names and times."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, NamedTuple, TypeAlias

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


class PodRef(NamedTuple):
    """One pod; ``uid`` tells it from an earlier or later namesake."""

    uid: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def path(self) -> str:
        """Where the API server has it."""
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"


class ObjectRef(NamedTuple):
    """One object of any kind, as events refer to it."""

    api_version: str
    kind: str
    uid: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


EARLIEST, LATEST = -62_135_596_800.0, 253_402_300_799.0
"""From the beginning of the year 1 to the end of 9999, which are all times that can be written again."""


@lru_cache(maxsize=4096)  # pods of a burst were created within a few seconds
def seconds(time: str | None) -> float | None:
    """Return an RFC 3339 time in seconds since the epoch, None for none and for text that is not a time.

    What lies before ``EARLIEST`` or after ``LATEST`` where its offset is none counts as no time: nothing here could
    write it.
    """
    if not time:
        return None
    try:
        read = datetime.fromisoformat(time)
    except ValueError:
        return None
    found = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    return found if EARLIEST <= found <= LATEST else None


def timestamp(seconds: float) -> str:
    """Write seconds since the epoch as Kubernetes writes times: RFC 3339, UTC, whole seconds."""
    return _timestamp(math.floor(seconds))


@lru_cache(maxsize=64)  # events of a burst are of a few seconds
def _timestamp(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
