"""Saves rounds beside the scheduling: a thread of its own encodes and writes, and never holds a round up."""

from __future__ import annotations

import logging
import queue
import threading
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import firmament
from firmament.artefacts.saving import encode_round
from firmament.server.saving.folder import ROUNDS_KEPT, ArtefactFolder

if TYPE_CHECKING:
    from firmament.artefacts.saving import RoundRecord
    from firmament.core.configuration import CoreConfiguration

log = logging.getLogger(__name__)

WAITING_ROUNDS = 4
"""Rounds that wait to be written, at most: each holds its whole problem in memory."""
CLOSE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class ArtefactOptions:
    """Where to save rounds and how many to keep."""

    folder: Path
    rounds: int = ROUNDS_KEPT


class ArtefactWriter:
    """Writes rounds to a folder.

    A round that cannot be saved, because the disk refuses it or because the rounds come faster than they can be
    written, is left out; the log says so once for each kind of failure, and at the end how many were left out.
    """

    def __init__(self, options: ArtefactOptions, configuration: CoreConfiguration) -> None:
        """Prepare the folder; raises ``ArtefactFolderError``."""
        self._folder = ArtefactFolder(options.folder, options.rounds)
        self._configuration = configuration
        self._versions = {
            "firmament": firmament.__version__,
            **{name: version(name) for name in ("ortools", "numpy")},
        }
        self._queue: queue.Queue[RoundRecord | None] = queue.Queue(WAITING_ROUNDS)
        self._left_out = 0
        self._told: set[str] = set()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._write_all, name="artefacts", daemon=True)
        self._thread.start()

    def record(self, record: RoundRecord) -> None:
        """Have a round saved, soon; returns at once. Callable from any thread."""
        try:
            self._queue.put_nowait(record)
        except queue.Full:
            self._failed("Full", "rounds come faster than they can be saved")

    def idle(self) -> bool:
        """Whether every round that was recorded has been saved or left out."""
        return self._queue.unfinished_tasks == 0

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Save what waits, as far as the time allows; idempotent. Nothing may be recorded afterwards."""
        if not self._thread.is_alive():
            return
        try:
            self._queue.put(None, timeout=seconds)
        except queue.Full:
            return
        self._thread.join(seconds)
        if self._left_out:
            log.warning("rounds not saved in all left_out=%d", self._left_out)

    def _write_all(self) -> None:
        while (record := self._queue.get()) is not None:
            try:
                self._folder.save(encode_round(record, self._configuration, self._versions))
            except Exception as error:  # noqa: BLE001 - no fault in what is only for looking at may end the saving
                self._failed(type(error).__name__, f"{type(error).__name__}: {error}")
            self._queue.task_done()

    def _failed(self, kind: str, why: str) -> None:
        with self._lock:
            self._left_out += 1
            known = kind in self._told
            self._told.add(kind)
        if not known:
            log.warning("round not saved reason=%r; further failures of this kind are not logged", why)
