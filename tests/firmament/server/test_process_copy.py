"""A copy of the process has the memory of its moment, sends one result, and never outlives its time."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from firmament.server.process_copy import CopyError, ProcessCopy


def test_a_copy_sees_what_was_and_changes_nothing_here():
    state = ["before"]

    def work() -> bytes:
        state.append("there")
        return ",".join(state).encode() * 100_000

    copy = ProcessCopy(work, 30.0)
    state[0] = "after"
    assert copy.result() == b"before,there" * 100_000
    assert state == ["after"]


def test_an_error_there_is_told_here(caplog: pytest.LogCaptureFixture):
    with pytest.raises(CopyError, match=r"^failed: ValueError: invalid literal for int"):
        ProcessCopy(lambda: bytes(int("many")), 30.0).result()
    assert "<lambda>" in caplog.text  # where it happened
    caplog.clear()


def test_a_copy_that_hangs_is_ended_in_time():
    began = time.monotonic()
    with pytest.raises(CopyError, match=r"^took too long and was ended$"):
        ProcessCopy(_hang, 0.2).result()
    assert time.monotonic() - began < 20.0


def test_a_copy_ends_by_itself_if_nobody_waits_for_it():
    copy = ProcessCopy(_hang, 0.1)
    _, status = os.waitpid(copy._pid, 0)
    assert os.WTERMSIG(status) == signal.SIGALRM


def test_a_copy_is_killed_from_another_thread():
    copy = ProcessCopy(_hang, 30.0)
    killer = threading.Thread(target=copy.kill)
    killer.start()
    with pytest.raises(CopyError, match=r"^was ended before it had a result$"):
        copy.result()
    killer.join()
    copy.kill()  # does nothing any more


def test_a_copy_keeps_no_descriptor_of_its_parent():
    reading, writing = os.pipe()
    copy = ProcessCopy(_hang, 30.0)
    os.close(writing)
    assert os.read(reading, 1) == b""  # it would wait as long as the copy has the other end
    os.close(reading)
    copy.kill()
    with pytest.raises(CopyError):
        copy.result()


def _hang() -> bytes:
    while True:
        signal.pause()
