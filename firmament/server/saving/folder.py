"""A folder of saved rounds: one sub-folder per round under a running number, the oldest removed.

A round appears all at once: its files are written aside and the finished folder is renamed.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

ROUNDS_KEPT = 100
_NAME = re.compile(r"round-(\d{8,})")
_ASIDE = ".unfinished-"


class ArtefactFolderError(OSError):
    """The folder for saved rounds cannot be used; the message says why and what to do."""


class ArtefactFolder:
    """Writes rounds into one folder, from one thread. Numbers go on where an earlier process stopped."""

    def __init__(self, path: Path, keep: int) -> None:
        """Create the folder if need be, and clear what an interrupted process left; ``ArtefactFolderError``."""
        self._path = path
        self._keep = keep
        try:
            path.mkdir(parents=True, exist_ok=True)
            for left in path.glob(f"{_ASIDE}*"):
                shutil.rmtree(left)
            probe = path / f"{_ASIDE}probe"
            probe.mkdir()
            probe.rmdir()
            numbers = [number for number, _ in saved_rounds(path)]
        except OSError as error:
            raise ArtefactFolderError(
                f"--artefacts: {path} cannot be written to: {error.strerror}; name a folder that can"
            ) from error
        self._last = max(numbers, default=0)

    def save(self, files: Mapping[str, bytes]) -> Path:
        """Write a round's files under the next number and remove surplus rounds; raises ``OSError``."""
        number = self._last + 1
        aside = self._path / f"{_ASIDE}{number}"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        for name, content in files.items():
            (aside / name).write_bytes(content)
        final = self._path / f"round-{number:08d}"
        aside.rename(final)
        self._last = number
        for _, surplus in saved_rounds(self._path)[: -self._keep]:
            shutil.rmtree(surplus)
        return final


def saved_rounds(path: Path) -> list[tuple[int, Path]]:
    """Numbers and folders of the rounds in ``path``, ascending; raises ``OSError``."""
    found = ((_NAME.fullmatch(each.name), each) for each in path.iterdir())
    return sorted((int(match[1]), each) for match, each in found if match and each.is_dir())
