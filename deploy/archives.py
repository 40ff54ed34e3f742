"""Archives that come out the same byte for byte, whenever and wherever they are made."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """A file, or a link to ``link``."""

    content: bytes
    executable: bool = False
    link: str = ""


def read_entries(root: Path, names: Iterable[str]) -> dict[str, Entry]:
    """Return files and links below ``root`` by their names."""
    found = {}
    for name in names:
        path = root / name
        if path.is_symlink():
            found[name] = Entry(b"", link=str(path.readlink()))
        elif path.is_file():
            found[name] = Entry(path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return found


def list_files(root: Path) -> list[str]:
    """Return the names of all files and links below ``root``."""
    return sorted(
        str(path.relative_to(root)) for path in root.rglob("*") if path.is_symlink() or path.is_file()
    )


def write_tar(target: Path, entries: Mapping[str, Entry], moment: int) -> None:
    """Write a ``.tar.gz`` of ``entries`` in order of names, all of ``moment`` (seconds since the epoch) and of root."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(entries):
            entry, info = entries[name], tarfile.TarInfo(name)
            info.mtime, info.mode = moment, 0o755 if entry.executable or entry.link else 0o644
            if entry.link:
                info.type, info.linkname = tarfile.SYMTYPE, entry.link
                archive.addfile(info)
            else:
                info.size = len(entry.content)
                archive.addfile(info, io.BytesIO(entry.content))
    with target.open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        packed.write(plain.getvalue())


def repack_tar(archive: Path, moment: int) -> None:
    """Write a ``.tar.gz`` once more, without times, owners and order of the machine that made it."""
    entries = {}
    with tarfile.open(archive) as held:
        for info in held.getmembers():
            content = held.extractfile(info) if info.isfile() else None
            if content is not None:
                entries[info.name] = Entry(content.read(), bool(info.mode & 0o100))
    write_tar(archive, entries, moment)


def repack_zip(archive: Path, moment: tuple[int, int, int, int, int, int]) -> None:
    """Write a zip file, such as a wheel, once more, without times and order of the machine that made it."""
    with zipfile.ZipFile(archive) as held:
        entries = [(info, held.read(info)) for info in held.infolist()]
    # The record of a wheel stands last, as it was.
    entries.sort(key=lambda each: (each[0].filename.endswith("RECORD"), each[0].filename))
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as made:
        for info, content in entries:
            fresh = zipfile.ZipInfo(info.filename, moment)
            fresh.external_attr = (0o755 if info.external_attr >> 16 & 0o100 else 0o644) << 16
            fresh.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(fresh, content)
