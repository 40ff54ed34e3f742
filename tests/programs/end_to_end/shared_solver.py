"""Solver processes that scenes share, each scene as a cluster of its own: starting one takes longer than most tests."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from tests.support import preloaded

ANNOUNCEMENT = "listening on "


class SharedSolvers:
    """One process per configuration, started when it is first asked for; all end with this process."""

    def __init__(self) -> None:
        self._addresses: dict[str, str] = {}
        self._connections: list[socket.socket] = []

    def address(self, folder: Path, config: Path | None) -> str:
        """Where the solver with a configuration listens; if it has to be started, its log is in ``folder``."""
        text = config.read_text() if config else ""
        if text not in self._addresses:
            self._addresses[text], connection = _started(folder / "shared-solver.log", config)
            self._connections.append(connection)  # without it, the process would be killed
        return self._addresses[text]


def _started(log: Path, config: Path | None) -> tuple[str, socket.socket]:
    command = ["firmament", "serve", "--listen", "127.0.0.1:0"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    out, into = os.pipe()
    with log.open("w") as errors, os.fdopen(out) as said:
        _, descriptor, connection = preloaded.start(
            [*command, *(["--config", str(config)] if config else [])], environment, (into, errors.fileno())
        )
        os.close(into)
        os.close(descriptor)
        line = said.readline()
    assert line.startswith(ANNOUNCEMENT), log.read_text()
    return line.removeprefix(ANNOUNCEMENT).strip(), connection
