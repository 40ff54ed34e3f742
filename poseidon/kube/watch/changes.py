"""Whom a reflector tells what it finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from poseidon.kube.api.metadata import KubeStruct
from poseidon.kube.api.resource import Change

T = TypeVar("T", bound=KubeStruct)


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
