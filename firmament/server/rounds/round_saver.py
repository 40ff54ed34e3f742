"""Saves rounds in a thread of its own, so that no round waits for the disk.

Each round gets a numbered folder, and the oldest folders are removed.
"""

from __future__ import annotations

import logging
import re
import shutil
import threading
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from queue import Full, Queue
from typing import TYPE_CHECKING

import firmament

if TYPE_CHECKING:
    from firmament.saved_rounds.saving import RoundRecord

log = logging.getLogger(__name__)

ROUNDS_KEPT = 100
_NAME = re.compile(r"round-(\d{8,})")
_ASIDE = ".unfinished-"
WAITING_ROUNDS = 4
"""How many rounds may wait to be written, as each keeps its whole problem in memory."""
CLOSE_SECONDS = 3.0


class SavedRoundsFolderError(OSError):
    """The folder for saved rounds cannot be used; the message says why, and what to do."""


class SavedRoundsFolder:
    """Writes rounds into one folder, from one thread. Numbers continue those of an earlier process.

    A round's folder appears complete: its files are written to another folder, which is then renamed.
    """

    def __init__(self, path: Path, keep: int) -> None:
        """Create the folder if it is missing, and remove unfinished rounds.

        Raise ``SavedRoundsFolderError`` if that fails.
        """
        self._path = path
        self._keep = keep
        try:
            path.mkdir(parents=True, exist_ok=True)
            for left in path.glob(f"{_ASIDE}*"):
                shutil.rmtree(left)
            probe = path / f"{_ASIDE}probe"
            probe.mkdir()
            probe.rmdir()
            numbers = [number for number, _ in list_saved_rounds(path)]
        except OSError as error:
            raise SavedRoundsFolderError(
                f"--artefacts: {path} cannot be written to: {error.strerror}; name a folder that can"
            ) from error
        self._last = max(numbers, default=0)

    def save(self, files: Mapping[str, bytes]) -> Path:
        """Write a round's files under the next number and remove surplus rounds; raise ``OSError`` if that fails."""
        number = self._last + 1
        aside = self._path / f"{_ASIDE}{number}"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        for name, content in files.items():
            (aside / name).write_bytes(content)
        final = self._path / f"round-{number:08d}"
        aside.rename(final)
        self._last = number
        for _, surplus in list_saved_rounds(self._path)[: -self._keep]:
            shutil.rmtree(surplus)
        return final


def list_saved_rounds(path: Path) -> list[tuple[int, Path]]:
    """Return the numbers and folders of the rounds in ``path``, ascending; raise ``OSError`` if it cannot be read."""
    found = ((_NAME.fullmatch(each.name), each) for each in path.iterdir())
    return sorted((int(match[1]), each) for match, each in found if match and each.is_dir())


def read_round(folder: Path) -> dict[str, bytes]:
    """Return, by name, the files that suffice to load a saved round; files that do not exist are left out.

    Raise ``OSError`` if a file cannot be read.
    """
    from firmament.saved_rounds.graphs import NETWORK_FILE
    from firmament.saved_rounds.saving import NEEDED

    names = (*NEEDED, NETWORK_FILE)
    return {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}


class SavedRoundWriter:
    """Writes finished rounds to a folder in a thread of its own, so that no round waits for the disk.

    A round is left out if it cannot be saved, because of the disk or because rounds come faster than they can be
    written. A failure to save is logged once for each kind of failure, and at the end with the number of rounds left
    out.
    """

    def __init__(self, folder: SavedRoundsFolder) -> None:
        self._folder = folder
        self._versions = {
            "firmament": firmament.__version__,
            **{name: version(name) for name in ("ortools", "numpy")},
        }
        self._queue: Queue[RoundRecord | None] = Queue(WAITING_ROUNDS)
        self._left_out = 0
        self._logged: set[str] = set()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._write_all, name="saved-rounds", daemon=True)
        self._thread.start()

    def record(self, record: RoundRecord) -> None:
        """Queue a round to be saved, without waiting. Any thread may call this method."""
        try:
            self._queue.put_nowait(record)
        except Full:
            self._note_failure("Full", "rounds come faster than they can be saved")

    def idle(self) -> bool:
        """Return whether no recorded round waits to be saved."""
        return self._queue.unfinished_tasks == 0

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Save the waiting rounds, for at most ``seconds``; a second call has no effect.

        No round may be recorded afterwards.
        """
        if not self._thread.is_alive():
            return
        try:
            self._queue.put(None, timeout=seconds)
        except Full:
            return
        self._thread.join(seconds)
        if self._left_out:
            log.warning("rounds not saved in all left_out=%d", self._left_out)

    def _write_all(self) -> None:
        from firmament.saved_rounds.saving import encode_round

        while (record := self._queue.get()) is not None:
            try:
                self._folder.save(encode_round(record, self._versions))
            except Exception as error:  # noqa: BLE001 - one round that cannot be saved must not end the thread
                self._note_failure(type(error).__name__, f"{type(error).__name__}: {error}")
            self._queue.task_done()

    def _note_failure(self, kind: str, why: str) -> None:
        with self._lock:
            self._left_out += 1
            known = kind in self._logged
            self._logged.add(kind)
        if not known:
            log.warning("round not saved reason=%r; further failures of this kind are not logged", why)
