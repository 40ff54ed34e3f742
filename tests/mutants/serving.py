"""``python serving.py DESCRIPTOR ARGUMENTS...``: collect tests once, then run some of them with a change, on demand.

A script that imports nothing of the project, so that it serves any copy of it. Orders come as lines of JSON over a
socket. Each is carried out in a fork of this process, in which the changed function gets its new code; so neither
importing nor collecting is paid again. The first line of an answer is ``ready``.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any, Final

import pytest

MOST_BYTES: Final = 12 << 30
"""Of addresses, so that a change which makes something grow without end does not take the machine's memory."""

TICKS: Final = os.sysconf("SC_CLK_TCK")


def replace_code(file: str, source: str, function: tuple[str, int]) -> bool:
    """Give a function of a loaded module the code that another source of the module has for it.

    Return False if there is no such function, or if it cannot get that code because it uses other variables of the
    functions around it.
    """
    qualified, line = function
    name = (file, qualified, line)

    def is_it(code: CodeType) -> bool:
        return (code.co_filename, code.co_qualname, code.co_firstlineno) == name

    waiting, found = [compile(source, file, "exec")], []
    while waiting:
        code = waiting.pop()
        found += [code] if is_it(code) else []
        waiting += [each for each in code.co_consts if isinstance(each, CodeType)]
    gc.unfreeze()
    functions = [each for each in gc.get_objects() if type(each) is FunctionType and is_it(each.__code__)]
    if len(found) != 1 or not functions:
        return False
    try:
        for each in functions:
            each.__code__ = found[0]
    except ValueError:
        return False
    return True


class Serving:
    """The plugin that takes the place of pytest's loop over tests."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the first failure."""
        if report.failed and not self._failed:
            self._failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Serve orders until no more come."""
        if session.testsfailed:
            return True  # collecting did
        items = {item.nodeid: item for item in session.items}
        with self._channel.makefile("rw") as lines:
            self._say(lines, "ready")
            for line in lines:
                self._say(lines, self._carry_out(json.loads(line), items))
        return True

    @staticmethod
    def _say(lines: Any, answer: object) -> None:
        lines.write(json.dumps(answer) + "\n")
        lines.flush()

    def _carry_out(self, order: dict[str, Any], items: dict[str, pytest.Item]) -> list[str]:
        """Fork, and return what came of it: ``passed``, ``failed`` or ``slow`` with a test, or ``unchanged``."""
        wanted = [(items[test], seconds) for test, seconds in order["tests"] if test in items]
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            status = 1
            with suppress(BaseException):
                self._run(order, [item for item, _ in wanted], writing)
                status = 0
            os._exit(status)
        os.close(writing)
        try:
            return _watch(child, reading, {item.nodeid: seconds for item, seconds in wanted})
        finally:
            os.close(reading)
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def _run(self, order: dict[str, Any], items: list[pytest.Item], writing: int) -> None:
        """Make the change in this fork, and run tests up to the first that fails."""

        def say(*words: str) -> None:
            os.write(writing, (json.dumps(words) + "\n").encode())

        os.setsid()
        sys.dont_write_bytecode = True
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        if order["function"] and not replace_code(order["file"], order["source"], tuple(order["function"])):
            say("unchanged", "")
            return
        for item, following in zip(items, [*items[1:], None], strict=True):
            say("begun", item.nodeid)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed:
                say("failed", self._failed)
                return
        say("passed", "")


def _watch(child: int, reading: int, limits: dict[str, float]) -> list[str]:
    """Wait for what a child says at the end, or until one of its tests takes too long.

    A limit is of seconds that the child computes; one that waits may take six times as long.
    """
    test, begun, before, rest = "", time.monotonic(), 0.0, b""
    while True:
        if not select.select([reading], [], [], 0.2)[0]:
            limit = limits.get(test, 60.0)
            if _read_seconds(child) - before > limit or time.monotonic() - begun > 6 * limit:
                return ["slow", test]
            continue
        part = os.read(reading, 1 << 16)
        if not part:
            return ["failed", test]  # it ended without a word, in the middle of a test
        *complete, rest = (rest + part).split(b"\n")
        for line in complete:
            word, test = json.loads(line)
            if word != "begun":
                return [word, test]
            begun, before = time.monotonic(), _read_seconds(child)


def _read_seconds(process: int) -> float:
    """Seconds that a process and its ended children have computed."""
    try:
        with open(f"/proc/{process}/stat") as file:  # noqa: PTH123 (asked several times a second)
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(each) for each in fields[11:15]) / TICKS


def main(descriptor: int, arguments: list[str]) -> None:
    """Run pytest with arguments, serving orders from a socket."""
    with socket.socket(fileno=descriptor) as channel:
        pytest.main(arguments, plugins=[Serving(channel)])


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
