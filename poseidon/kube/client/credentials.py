"""Loads credentials for an API server, again when they change: tokens, certificates, results of plug-ins.

This module does no network I/O, but it reads files and runs plug-ins, so call it from a thread.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

_BEFORE_EXPIRY_SECONDS = 30.0
"""Credentials are loaded again this many seconds before they expire, so that none expires before it arrives."""


class Credentials(NamedTuple):
    """Credentials: how this process identifies itself, and which servers it trusts.

    ``authorization`` is the value of the Authorization header, "" for none. ``tls`` is None if the connection
    has no certificates of its own; a new object means that new connections must use it.
    """

    authorization: str = ""
    tls: ssl.SSLContext | None = None


class CredentialSource(Protocol):
    """A source of credentials. ``read`` may block, and raises any error of files and plug-ins."""

    def read(self, *, refused: bool = False) -> Credentials:
        """Return the present credentials; ``refused``: whether the server did not accept the last ones."""


@dataclass(frozen=True, slots=True)
class HeaderCredentials:
    """Credentials that consist of an Authorization header only, which is read anew each time."""

    header: Callable[[], str]

    def read(self, *, refused: bool = False) -> Credentials:  # noqa: ARG002 - asking anew is all that can be done
        """Return the present header."""
        return Credentials(self.header())


class Loaded(NamedTuple):
    """Credentials, and the files from which they were read.

    ``tls_files`` are those of ``files`` from which ``credentials.tls`` was made. ``expires_at`` is in seconds since the
    epoch, None if unknown.
    """

    credentials: Credentials
    files: Sequence[str]
    tls_files: Sequence[str] = ()
    expires_at: float | None = None


class FollowedCredentials:
    """Credentials that are loaded again when one of their files changes, when they expire, or when they are refused.

    ``load`` may be slow, because it runs plug-ins. If it raises, the next call tries again. ``wall`` returns seconds
    since the epoch. The TLS context stays the same object until a certificate changes.
    """

    def __init__(self, load: Callable[[], Loaded], loaded: Loaded, wall: Callable[[], float]) -> None:
        self._load = load
        self._wall = wall
        self._loaded = loaded
        self._state = _state_of(loaded.files)
        self._tls_state = _state_of(loaded.tls_files)

    def read(self, *, refused: bool = False) -> Credentials:
        """Return the present credentials. Raises what ``load`` raises."""
        if refused or self._is_stale():
            state = _state_of(
                self._loaded.files
            )  # the state before reading, so that changes made meanwhile are read again
            self._replace_loaded(self._load(), state)
        return self._loaded.credentials

    def _is_stale(self) -> bool:
        expires_at = self._loaded.expires_at
        if expires_at is not None and self._wall() >= expires_at - _BEFORE_EXPIRY_SECONDS:
            return True
        return _state_of(self._loaded.files) != self._state

    def _replace_loaded(self, loaded: Loaded, state: tuple[object, ...]) -> None:
        tls_state = _state_of(loaded.tls_files)
        if tls_state == self._tls_state:
            loaded = loaded._replace(
                credentials=loaded.credentials._replace(tls=self._loaded.credentials.tls)
            )
        self._state = state if list(loaded.files) == list(self._loaded.files) else _state_of(loaded.files)
        self._tls_state = tls_state
        self._loaded = loaded


def _state_of(files: Sequence[str]) -> tuple[object, ...]:
    """Return a value that changes when a file is written or replaced, even behind a symbolic link."""
    return tuple(_file_state(name) for name in files)


def _file_state(name: str) -> tuple[str, int, int, int] | str:
    try:
        found = os.stat(Path(name))  # noqa: PTH116 - the same, and what is compared below is its result
    except OSError:
        return name
    return name, found.st_mtime_ns, found.st_size, found.st_ino
