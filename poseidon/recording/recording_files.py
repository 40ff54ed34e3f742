"""Reads and writes the files of a recording: compressed blocks of entries.

A file whose end is missing is read as far as it goes.

A folder has files ``recording-NUMBER``, numbered in the order of writing. Each file of a recording begins with the
whole known state. The oldest file can therefore be deleted when all files together would exceed the limit.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from google.protobuf.message import DecodeError

from protos.firmament.v1 import scheduler_pb2 as pb

_BEGINS = b"poseidon recording 1\n"
_NAME = re.compile(r"recording-(\d{8,})")
_LENGTH = struct.Struct(">I")
_FAST = 1
"""Compression level of zlib; the best level would save a tenth of the size and take many times as long."""
_PARTS = 8
"""Number of files of about equal size that a full folder holds."""
LEAST_LIMIT = 1 << 20


class RecordingError(ValueError):
    """Raised if a folder cannot be written to, or holds no recording; the text is for people."""


def list_segments(path: Path) -> list[Path]:
    """Return the files of a recording in order. Raises ``RecordingError`` if the folder holds none."""
    try:
        found = [(int(match[1]), each) for each in path.iterdir() if (match := _NAME.fullmatch(each.name))]
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}; name a folder of --record") from error
    if not found:
        raise RecordingError(f"{path} holds no recording; name a folder that poseidon run --record wrote")
    return [each for _, each in sorted(found)]


def read_recording(path: Path) -> Iterator[pb.Recorded]:
    """Yield the entries of all files in order. Raises ``RecordingError`` if the folder holds no recording."""
    for each in list_segments(path):
        yield from read_segment(each)


def read_segment(path: Path) -> Iterator[pb.Recorded]:
    """Yield the entries of a file, up to its end or the place where it was cut off."""
    try:
        with path.open("rb") as file:
            if file.readline(len(_BEGINS)) != _BEGINS:
                raise RecordingError(f"{path} is not a recording, or one of another version")
            for block in _read_blocks(file):
                yield from _read_entries(block, path)
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from error


def _read_blocks(file: BinaryIO) -> Iterator[bytes]:
    while len(head := file.read(_LENGTH.size)) == _LENGTH.size:
        (length,) = _LENGTH.unpack(head)
        packed = file.read(length)
        if len(packed) < length:
            return
        try:
            yield zlib.decompress(packed)
        except zlib.error:
            return


def _read_entries(block: bytes, path: Path) -> Iterator[pb.Recorded]:
    place = 0
    while place < len(block):
        (length,) = _LENGTH.unpack_from(block, place)
        place += _LENGTH.size
        try:
            yield pb.Recorded.FromString(block[place : place + length])
        except DecodeError as error:
            raise RecordingError(f"{path} holds an entry that cannot be read: {error}") from error
        place += length


class SegmentWriter:
    """Writes files into a folder, whose files together never exceed ``limit`` bytes; for use by one thread.

    The numbers of files continue those of an earlier process. Raises ``RecordingError`` if the folder cannot be
    written to.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self._path, self._limit = path, limit
        self.most = limit // _PARTS
        """Bytes in a file after which another file should begin."""
        self.size = 0
        """Bytes written to the present file."""
        self._file: BinaryIO | None = None
        try:
            path.mkdir(parents=True, exist_ok=True)
            probe = path / ".probe"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise RecordingError(
                f"--record: {path} cannot be written to: {error.strerror}; name a folder that can"
            ) from error
        known = self._list_files()
        self._number = max((int(each.name.rpartition("-")[2]) for each in known), default=0)
        self._earlier: dict[Path, int] = {}

    def begin(self) -> None:
        """End the present file and begin the next file. Raises ``OSError`` if a file cannot be written."""
        self.close()
        self._earlier = {each: each.stat().st_size for each in self._list_files()}
        self._number += 1
        path = self._path / f"recording-{self._number:08d}"
        # From the first byte on, only the owner may read the file.
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self.size = 0
        self._append(_BEGINS)

    def write(self, entries: Iterable[bytes]) -> None:
        """Write entries as one block, and start to transfer it to the disk.

        Raises ``OSError`` if the file cannot be written.

        The oldest files are deleted if the limit would be exceeded.
        """
        block = b"".join(part for each in entries for part in (_LENGTH.pack(len(each)), each))
        if self._file is not None and block:
            packed = zlib.compress(block, _FAST)
            self._append(_LENGTH.pack(len(packed)) + packed)

    def _append(self, content: bytes) -> None:
        assert self._file is not None
        while self._earlier and sum(self._earlier.values()) + self.size + len(content) > self._limit:
            oldest = next(iter(self._earlier))
            oldest.unlink(missing_ok=True)
            del self._earlier[oldest]
        if self.size + len(content) <= self._limit:
            self._file.write(content)
            self._file.flush()
            self.size += len(content)

    def close(self) -> None:
        """End the present file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _list_files(self) -> list[Path]:
        found = [each for each in self._path.iterdir() if _NAME.fullmatch(each.name)]
        return sorted(found, key=lambda each: int(each.name.rpartition("-")[2]))
