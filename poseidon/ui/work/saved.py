"""Reads rounds that a solver has saved as files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import msgspec

from poseidon.embedding import replay_round_flow

DESCRIPTION = "round.json"
MOST_BYTES = 512 << 20
_NAME = re.compile(r"round-(\d{1,18})", re.ASCII)


class Stats(msgspec.Struct):
    """Figures of a saved round, with the names that the protocol uses."""

    machines: int = 0
    """Number of machines."""
    tasks: int = 0
    """Number of tasks that took part in the round."""
    classes: int = 0
    """Number of task classes."""
    arcs: int = 0
    """Number of arcs in the flow network."""
    certified: bool = True
    """Whether the flow was proved optimal."""
    gap: float = 0.0
    """Share of the placements' cost that could be saved at most, from 0 to 1, if rules between tasks are ignored."""
    cost: int = 0
    """Cost of the round's placements, in points."""
    snapshot_seconds: float = 0.0
    """Seconds that the snapshot took."""
    network_seconds: float = 0.0
    """Seconds that building the network took."""
    solve_seconds: float = 0.0
    """Seconds that solving the network took."""
    admit_seconds: float = 0.0
    """Seconds that joint admission took."""
    placed: int = 0
    """Number of tasks that the round placed."""
    pending: int = 0
    """Number of tasks that stay pending."""


class _Described(msgspec.Struct):
    cluster: str
    round: int
    stats: Stats


class SavedRound(NamedTuple):
    """A folder with a saved round: the round's cluster, number and figures, and when its files were written."""

    folder: Path
    cluster: str
    number: int
    stats: Stats
    ended: float


def round_folders(path: Path) -> list[Path]:
    """Return the folders of saved rounds in a folder, or the folder itself if it holds a saved round.

    Raises ``OSError`` if the folder cannot be read.
    """
    if (path / DESCRIPTION).is_file():
        return [path]
    found = ((_NAME.fullmatch(each.name), each) for each in path.iterdir())
    return [
        folder for _, folder in sorted((int(name[1]), each) for name, each in found if name and each.is_dir())
    ]


def describe(folder: Path) -> SavedRound:
    """Read the description of a saved round. Raises ``OSError`` or ``ValueError`` if the description cannot be read."""
    file = folder / DESCRIPTION
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"{file}: larger than {MOST_BYTES >> 20} MiB")
    try:
        found = msgspec.json.decode(file.read_bytes(), type=_Described)
    except msgspec.DecodeError as error:
        raise ValueError(f"{file}: {error}") from None
    return SavedRound(folder, found.cluster, found.round, found.stats, file.stat().st_mtime)


def replay_flow(folder: str) -> bytes:
    """Decide a saved round again, and return its flow as an encoded message.

    Raises ``OSError`` or ``ValueError`` if the round cannot be read.
    """
    files = [each for each in Path(folder).iterdir() if each.is_file()]
    if sum(each.stat().st_size for each in files) > MOST_BYTES:
        raise ValueError(f"{folder}: larger than {MOST_BYTES >> 20} MiB")
    return replay_round_flow({each.name: each.read_bytes() for each in files}).SerializeToString()
