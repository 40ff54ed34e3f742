"""All writes of a store in a file, so that a cluster whose process was killed goes on where it ended.

One line per write: collection, key, revision and the object's JSON, separated by tabs; nothing after the last tab is a
deletion. Each line is handed to the operating system before the write is answered: it outlives the process, not the
machine.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Saved(NamedTuple):
    """What a journal tells: the newest revision, and the JSON of each object by (collection, key)."""

    revision: int
    objects: dict[tuple[str, str], bytes]


class Journal:
    """Appends to the file ``path``. Raises ``OSError``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("ab", buffering=0)

    def append(self, collection: str, key: str, revision: int, raw: bytes) -> None:
        """Write down what an object has become; ``raw`` b"": it is gone."""
        self._file.write(b"%b\t%b\t%d\t%b\n" % (collection.encode(), key.encode(), revision, raw))

    def read(self) -> Saved:
        """Return what has been written so far. A last line that is cut off was never answered."""
        revision, objects = 0, {}
        with self._path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                collection, key, number, raw = line[:-1].split(b"\t", 3)
                revision = max(revision, int(number))
                where = collection.decode(), key.decode()
                if raw:
                    objects[where] = raw
                else:
                    objects.pop(where, None)
        return Saved(revision, objects)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
