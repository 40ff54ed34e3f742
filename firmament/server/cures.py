"""Finds cures for waiting tasks of running clusters, one search at a time, each in a copy of this process."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from firmament.core.cures.running import find_cures_in_copy
from firmament.core.questions import UnknownTaskError
from firmament.core.scheduler import Scheduler
from firmament.server.cluster import ServedCluster
from firmament.server.process_copy import CopyError, ProcessCopy
from firmament.solvers.ortools_solver import OrToolsSolver
from firmament.wire.cures import cures_to_proto

SECONDS = 30.0
"""The most seconds that a search takes."""
TRIES = 40
"""The most trial rounds that are run for a task."""
MOST = 5
"""The most cures that a task gets by itself."""


class BusySearchError(Exception):
    """Another search is under way; the text of the error says what to do."""


class CureSearches:
    """Runs the searches for cures of all clusters, one at a time."""

    def __init__(self) -> None:
        self._one = threading.Lock()
        self._copy: ProcessCopy | None = None
        self._closed = threading.Event()

    def find_cures(self, cluster: ServedCluster, uid: str, fixed: Sequence[str]) -> bytes:
        """Return a serialised ``FoundCures`` for a task; ``fixed``: uids of tasks that must not be moved.

        Raise ``BusySearchError``, ``CopyError``, ``NoStateError`` or ``UnknownTaskError``.
        """
        if self._closed.is_set() or not self._one.acquire(blocking=False):
            raise BusySearchError("cures are being sought already; ask again in some seconds")
        try:
            with cluster.hold_still() as scheduler:
                if not scheduler.knows(uid):
                    raise UnknownTaskError(uid)
                copy = ProcessCopy(lambda: _search(scheduler, uid, fixed), SECONDS)
            self._copy = copy
            if self._closed.is_set():
                copy.kill()
            return copy.result()
        except CopyError as error:
            raise CopyError(f"the search for cures {error}") from None
        finally:
            self._copy = None
            self._one.release()

    def close(self) -> None:
        """End the search under way, and refuse all later searches."""
        self._closed.set()
        copy = self._copy
        if copy is not None:
            copy.kill()


def _search(scheduler: Scheduler, uid: str, fixed: Sequence[str]) -> bytes:
    """Return a serialised ``FoundCures``; ``scheduler`` is a copy, on which changes have no effect."""
    known = scheduler.list_events()
    found = find_cures_in_copy(
        scheduler, known, OrToolsSolver(lazy=True), uid, frozenset(fixed), tries=TRIES, most=MOST
    )
    return cures_to_proto(found, known).SerializeToString()
