"""Rounds that a solver has saved as files."""

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
    """The figures of a round, named as in the protocol."""

    machines: int = 0
    """Machines."""
    tasks: int = 0
    """Tasks that took part."""
    classes: int = 0
    """Task classes."""
    arcs: int = 0
    """Arcs of the network."""
    certified: bool = True
    """Whether the flow was proved optimal."""
    gap: float = 0.0
    """Largest part of the placements' cost that could be saved, ignoring rules: from 0 to 1."""
    cost: int = 0
    """Cost of the placements."""
    snapshot_seconds: float = 0.0
    """Seconds for the snapshot."""
    network_seconds: float = 0.0
    """Seconds for building the network."""
    solve_seconds: float = 0.0
    """Seconds for solving it."""
    admit_seconds: float = 0.0
    """Seconds for admission."""
    placed: int = 0
    """Tasks placed."""
    pending: int = 0
    """Tasks that stay pending."""


class _Described(msgspec.Struct):
    cluster: str
    round: int
    stats: Stats


class SavedRound(NamedTuple):
    """A folder with a saved round: its cluster, number and figures, and when the files were written."""

    folder: Path
    cluster: str
    number: int
    stats: Stats
    ended: float


def round_folders(path: Path) -> list[Path]:
    """Return the folders of saved rounds in a folder, or the folder itself if it is one. Raises ``OSError``."""
    if (path / DESCRIPTION).is_file():
        return [path]
    found = ((_NAME.fullmatch(each.name), each) for each in path.iterdir())
    return [
        folder for _, folder in sorted((int(name[1]), each) for name, each in found if name and each.is_dir())
    ]


def describe(folder: Path) -> SavedRound:
    """Read the description of a saved round. Raises ``OSError`` or ``ValueError``."""
    file = folder / DESCRIPTION
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"{file}: larger than {MOST_BYTES >> 20} MiB")
    try:
        found = msgspec.json.decode(file.read_bytes(), type=_Described)
    except msgspec.DecodeError as error:
        raise ValueError(f"{file}: {error}") from None
    return SavedRound(folder, found.cluster, found.round, found.stats, file.stat().st_mtime)


def replay_flow(folder: str) -> bytes:
    """Decide a saved round again, and return its flow as a message. Raises ``OSError`` or ``ValueError``."""
    files = [each for each in Path(folder).iterdir() if each.is_file()]
    if sum(each.stat().st_size for each in files) > MOST_BYTES:
        raise ValueError(f"{folder}: larger than {MOST_BYTES >> 20} MiB")
    return replay_round_flow({each.name: each.read_bytes() for each in files}).SerializeToString()
