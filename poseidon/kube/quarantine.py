"""Sets aside single objects whose handling raised an exception, so that all others are handled.

Anybody with access may write an object that makes its handling fail, perhaps on purpose, and the object is still
there after a restart. Each change of an object, and each action about an object, therefore runs under this module's
control. If the change or action raises an exception, the object is set aside, counted by kind, and logged once. The
object is tried again when it changes.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeVar

from poseidon.kube.api.metadata import KubeStruct
from poseidon.kube.api.resource import Change

T = TypeVar("T", bound=KubeStruct)

_log = logging.getLogger(__name__)

_MOST_REMEMBERED = 100_000
_LONGEST_REASON = 300


class Quarantine:
    """The objects that are set aside, by kind and key (an object's uid or name), with the reasons.

    ``count`` is called with the kind at each failure. Not thread-safe.
    """

    def __init__(self, count: Callable[[str], None] | None = None) -> None:
        self._count = count
        self._reasons: dict[str, dict[str, str]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._reasons.values()))

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        """Yield kind, key and reason of all objects that are set aside."""
        return ((kind, key, why) for kind, found in self._reasons.items() for key, why in found.items())

    def reason(self, kind: str, key: str) -> str:
        """Return why an object is set aside, "" if it is not."""
        return self._reasons.get(kind, {}).get(key, "")

    def set_aside(self, kind: str, key: str, error: Exception, *, name: str = "") -> str:
        """Set an object aside because of an error; return the reason. ``name`` is shown to people."""
        reason = _reason(error)
        if self._count is not None:
            self._count(kind)
        known = self._reasons.setdefault(kind, {})
        if known.get(key) != reason:
            _log.error(
                'object set aside until it changes kind=%s name=%s error="%s" where=%s',
                kind,
                name or key,
                reason,
                _where(error),
            )
            _log.debug("traceback of what set it aside", exc_info=error)
        if key in known or len(known) < _MOST_REMEMBERED:
            known[key] = reason
        return reason

    def release(self, kind: str, key: str) -> None:
        """Remove an object that has been handled, or does not exist any more."""
        known = self._reasons.get(kind)
        if known:
            known.pop(key, None)

    def attempt(self, kind: str, key: str, *, name: str = "") -> Attempt:
        """Return a context in which an object is handled; an exception in it sets the object aside."""
        return Attempt(self, kind, key, name)

    def deliver(
        self, kind: str, take: Callable[[Sequence[Change[T]]], None], changes: Sequence[Change[T]]
    ) -> None:
        """Pass changes to ``take``: all at once or, if that fails, one by one, to set aside only faulty objects.

        ``take`` may therefore get a change twice, even if it has already handled part of the change.
        """
        try:
            take(changes)
        except Exception as error:  # noqa: BLE001 - anything at all may be wrong with an object
            if len(changes) == 1:
                self._fail(kind, changes[0], error)
                return
        else:
            if self._reasons.get(kind):
                for change in changes:
                    self.release(kind, change.uid)
            return
        for change in changes:
            self.deliver(kind, take, [change])

    def _fail(self, kind: str, change: Change[T], error: Exception) -> None:
        found = change.object
        metadata = getattr(found, "metadata", None)
        parts = (metadata.namespace, metadata.name) if metadata is not None else ()
        self.set_aside(kind, change.uid, error, name="/".join(part for part in parts if part))
        if found is None:
            # A deleted object will not change any more, so it is not kept.
            self.release(kind, change.uid)


@dataclass(slots=True)
class Attempt:
    """A context that sets an object aside instead of raising; afterwards ``failed`` says whether it did."""

    quarantine: Quarantine
    kind: str
    key: str
    name: str
    failed: bool = field(default=False, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool:
        if error is None:
            self.quarantine.release(self.kind, self.key)
            return False
        if not isinstance(error, Exception):
            return False
        self.failed = True
        self.quarantine.set_aside(self.kind, self.key, error, name=self.name)
        return True


def _reason(error: Exception) -> str:
    """Return the type and message of an error in one short line."""
    text = " ".join(str(error).encode("utf-8", "replace").decode().split())
    return f"{type(error).__name__}: {text}"[:_LONGEST_REASON].rstrip(": ")


def _where(error: Exception) -> str:
    """Return the module and line of this project where an error was raised."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if "poseidon" in each.filename]
    if not frames:
        return "?"
    path = frames[-1].filename.replace("\\", "/")
    return f"poseidon{path.rpartition('/poseidon')[2]}:{frames[-1].lineno}"
