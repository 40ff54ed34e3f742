"""What a reflector tells whom, and how patient it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, NamedTuple, Protocol, TypeVar

from pydantic import BeforeValidator, Field

from poseidon.kube.api.metadata import KubeStruct
from protos.conventions.configuration import Section, parse_duration

T = TypeVar("T", bound=KubeStruct)


class Change(NamedTuple, Generic[T]):
    """An object as it is now, or its absence (``object`` None). ``uid`` tells it from a namesake."""

    uid: str
    object: T | None


class Handler(Protocol[T]):
    """Receives changes, in the order of the server, from the event loop's thread. Must not block."""

    def on_changes(self, changes: Sequence[Change[T]]) -> None:
        """Take one batch. An object may come again unchanged; an absence may come for an unknown uid."""

    def on_synced(self) -> None:
        """The first complete list has been handed over, or the resource is not served at all."""


@dataclass(frozen=True, slots=True)
class Feed(Generic[T]):
    """A handler that passes changes to ``take`` and then calls ``changed``, also when the first list is complete."""

    take: Callable[[Sequence[Change[T]]], None]
    changed: Callable[[], None]

    def on_changes(self, changes: Sequence[Change[T]]) -> None:
        """Pass a batch on."""
        self.take(changes)
        self.changed()

    def on_synced(self) -> None:
        """Say so."""
        self.changed()


class WatchOptions(Section):
    """The section ``watch``.

    ``reconcile_period`` (15 min): how often what is known of each resource is compared with what the API server has.
    0: never.
    """

    reconcile_period: Annotated[
        float, BeforeValidator(parse_duration), Field(ge=0, le=86400, allow_inf_nan=False)
    ] = 900.0


@dataclass(frozen=True, slots=True)
class ReflectorOptions:
    """Sizes and times (seconds) of a reflector.

    ``optional``: a resource that this client may not read (403) counts as one that is not served.
    ``watch_seconds`` is the range that each watch's server-side time-out is drawn from; the client gives up
    on a silent stream ``read_margin`` later. ``absent_seconds`` is the pause between tries of a resource that
    is not served. ``broken_watches`` is the number of watches in a row that fail without progress after which
    to list anew.
    """

    page_size: int = 1000
    watch_seconds: tuple[float, float] = (300.0, 600.0)
    read_margin: float = 15.0
    absent_seconds: float = 20.0
    broken_watches: int = 5
    optional: bool = False
    backoff_initial: float = 0.2
    backoff_cap: float = 10.0
