"""Finds manifests, saved rounds and support bundles in the files and folders named on the command line."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from poseidon.ui.work.saved import SavedRound, describe, round_folders

MOST_FILES = 100_000
MOST_BYTES = 4 << 30
_CLUSTER, _ROUNDS = "cluster", "rounds"
_CHUNK = 1 << 20


class SnapshotError(Exception):
    """Raised if the content of a path cannot be shown; the text of the error is one line for people."""


@dataclass(slots=True)
class Snapshots:
    """What given paths contain: ``manifests`` (paths), ``rounds`` (saved ones, in order), ``warnings`` for people."""

    manifests: list[str] = field(default_factory=list)
    rounds: list[SavedRound] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def find_snapshots(paths: Iterable[str], unpacked: Path) -> Snapshots:
    """Return the manifests and saved rounds that some paths contain.

    Raises ``SnapshotError`` if a path cannot be shown.

    Archives are unpacked below the folder ``unpacked``.
    """
    found = Snapshots()
    for number, name in enumerate(paths):
        path = Path(name)
        try:
            if path.is_file() and path.name.endswith((".tar.gz", ".tgz")):
                folder = unpacked / str(number)
                folder.mkdir()
                unpack(path, folder)
                path = folder
            _add_path(path, found)
        except OSError as error:
            raise SnapshotError(f"{name}: {error.strerror or error}") from None
        except (tarfile.TarError, EOFError) as error:
            raise SnapshotError(f"{name} is not an archive that can be read: {error}") from None
    return found


def _add_path(path: Path, found: Snapshots) -> None:
    if not path.exists():
        raise SnapshotError(f"{path}: no such file or folder")
    if not path.is_dir():
        found.manifests.append(str(path))
        return
    bundle = _bundle(path)
    if bundle is not None:
        if (bundle / _CLUSTER).is_dir():
            found.manifests.append(str(bundle / _CLUSTER))
        if (bundle / _ROUNDS).is_dir():
            _take_rounds(bundle / _ROUNDS, found)
    elif round_folders(path):
        _take_rounds(path, found)
    else:
        found.manifests.append(str(path))


def _bundle(path: Path) -> Path | None:
    """Return the folder of a support bundle: ``path`` or its only subfolder, or None if neither is a bundle."""
    inside = [each for each in sorted(path.iterdir()) if each.is_dir()]
    for each in (path, *(inside if len(inside) == 1 else ())):
        parts = [each / _CLUSTER, each / _ROUNDS]
        if any(part.is_dir() for part in parts) and (each / "README.txt").is_file():
            return each
    return None


def _take_rounds(path: Path, found: Snapshots) -> None:
    for folder in round_folders(path):
        try:
            found.rounds.append(describe(folder))
        except (OSError, ValueError) as error:
            found.warnings.append(str(error))


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a support bundle: only plain files and folders, only below ``folder``, limited in number and size.

    Raises ``SnapshotError``, ``OSError`` or ``tarfile.TarError``.
    """
    files = size = 0
    with tarfile.open(archive, "r|gz") as tar:
        for member in tar:
            files += 1
            if files > MOST_FILES:
                raise SnapshotError(f"{archive} holds more than {MOST_FILES:,} files")
            if member.isdir():
                continue
            target = _target(member, folder, archive)
            content = tar.extractfile(member)
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as written:
                while content is not None and (chunk := content.read(_CHUNK)):
                    size += len(chunk)
                    if size > MOST_BYTES:
                        raise SnapshotError(f"{archive} holds more than {MOST_BYTES >> 30} GiB")
                    written.write(chunk)


def _target(member: tarfile.TarInfo, folder: Path, archive: Path) -> Path:
    """Return the path for a member of an archive; refuse members that are no plain files or lie outside ``folder``."""
    parts = PurePosixPath(member.name).parts
    if (
        not member.isreg()
        or not parts
        or ".." in parts
        or PurePosixPath(member.name).is_absolute()
        or "\0" in member.name
    ):
        raise SnapshotError(f"{archive}: {member.name[:100]!r} is no plain file below the archive's folder")
    return folder.joinpath(*parts)
