"""Defines what objects of all kinds share: decoding of fields, metadata, statuses, conditions, names and times."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, NamedTuple, TypeAlias

from msgspec import Meta, Struct, field

Number: TypeAlias = str | int | float
"""A quantity as written: API servers send strings, people also write numbers."""

Resources: TypeAlias = dict[str, Number]

SMALLEST, LARGEST = -(2**63), 2**63 - 1
Integer: TypeAlias = Annotated[int, Meta(ge=SMALLEST, le=LARGEST)]
"""A whole number of at most 64 bits, as in the API server.

Decoding refuses larger ones, because they could not be written again.
"""


class KubeStruct(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Base of all API objects, with the fields that a scheduler reads.

    Decoding skips unknown fields and gives absent ones Kubernetes' defaults; the module ``decoding`` says how nulls
    and malformed objects are treated. Attributes are in snake_case, names in JSON in camelCase. Lists are decoded as
    tuples, so empty lists take no memory. Objects never refer to themselves, so ``gc=False`` leaks no memory.
    """


class OwnerReference(KubeStruct, frozen=True):
    """The creator of an object; the one with ``controller`` set manages it."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(KubeStruct, frozen=True):
    """Metadata of an object. Times are RFC 3339 text; ``deletion_timestamp`` is set once deletion was requested."""

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


class GenerationMeta(ObjectMeta, frozen=True):
    """Metadata with ``generation``, a number that grows with each change of the spec."""

    generation: Integer = 0


class ListMeta(KubeStruct, frozen=True):
    """Metadata of a list: its resource version, and the token of the next page ("" on the last page)."""

    resource_version: str = ""
    continue_token: str = field(default="", name="continue")


class StatusDetails(KubeStruct, frozen=True):
    """Details of a ``Status``: the seconds to wait before another try."""

    retry_after_seconds: Integer = 0


class Status(KubeStruct, frozen=True):
    """The API server's answer if it returns no object: an error, or the outcome of a request."""

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
    """A reference to a pod; ``uid`` distinguishes it from other pods of the same name."""

    uid: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def path(self) -> str:
        """The object's path on the API server."""
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"


class ObjectRef(NamedTuple):
    """A reference to an object of any kind, as events contain it."""

    api_version: str
    kind: str
    uid: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


EARLIEST, LATEST = -62_135_596_800.0, 253_402_300_799.0
"""The first second of the year 1 and the last second of 9999; Python can write only times between them."""


def get_metadata(item: KubeStruct) -> ObjectMeta:
    """Return the metadata of an object of the API."""
    metadata: ObjectMeta = item.metadata  # type: ignore[attr-defined]  # only the kinds themselves declare it
    return metadata


@lru_cache(maxsize=4096)  # Pods of a burst were created within a few seconds.
def seconds(time: str | None) -> float | None:
    """Return an RFC 3339 time in seconds since the epoch; None if there is no time, or the text is not one.

    The result is also None for times before ``EARLIEST`` or after ``LATEST``, because Python could not write them.
    """
    if not time:
        return None
    try:
        read = datetime.fromisoformat(time)
    except ValueError:
        return None
    found = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    return found if EARLIEST <= found <= LATEST else None


def format_time(seconds: float) -> str:
    """Format seconds since the epoch as Kubernetes does: RFC 3339, UTC, whole seconds."""
    return _timestamp(math.floor(seconds))


@lru_cache(maxsize=64)  # Events of a burst are all from a few seconds.
def _timestamp(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
