"""One stream to the solver: who is asked in which order, what is said first, and why a stream ends."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import grpc
import pytest

from poseidon.bridge.solver_stream.stream import (
    CredentialsChangedError,
    HelloRefusedError,
    StreamLostError,
    ask,
    ask_welcome,
    credentials_changed,
    end_of,
    hello_of,
    needs_of,
)
from poseidon.pods.visibility import WHEN_UNTOLD
from protos.conventions.tls import TlsFiles
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.scripted_solver import ScriptedSolver, running_solver
from tests.support.waiting import stays

REFUSED, LOST = grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize(
    ("major", "minor", "needs"),
    [
        (1, 2, {"containers"}),
        (1, 3, {"containers"}),
        (2, 0, {"containers"}),
        (1, 1, WHEN_UNTOLD | {"records:Room"}),
    ],
)
def test_a_solver_too_old_to_say_what_it_needs_gets_all_that_such_solvers_use(major, minor, needs):
    welcome = pb.Welcome(
        version_major=major, version_minor=minor, needs=["containers"], record_kinds=["Room"]
    )
    assert needs_of(welcome) == needs


def test_a_driver_introduces_itself():
    hello = hello_of("prod", "poseidon 1", fencing=7)
    assert (hello.cluster, hello.client, hello.fencing) == ("prod", "poseidon 1", 7)
    assert (hello.version_major, hello.version_minor, hello.reads_acknowledged) == (1, 2, True)
    assert hello.ephemeral, "it is forgotten at its end, unless it says otherwise"
    assert not hello_of("prod", "p", ephemeral=False).ephemeral


class Ended:
    """A call that is over."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        self._code, self._details = code, details

    async def code(self) -> grpc.StatusCode:
        return self._code

    async def details(self) -> str:
        return self._details


@pytest.mark.parametrize(
    ("code", "details", "greeting", "kind", "text"),
    [
        (REFUSED, "too old", True, HelloRefusedError, "s:1: too old"),
        (REFUSED, "too old", False, StreamLostError, "s:1: FAILED_PRECONDITION: too old"),
        (LOST, "gone", True, StreamLostError, "s:1: UNAVAILABLE: gone"),
        (grpc.StatusCode.OK, "", False, StreamLostError, "s:1: OK: the solver ended the stream"),
    ],
)
async def test_why_a_stream_is_over(code, details, greeting, kind, text):
    call: Any = Ended(code, details)
    error = await end_of(call, "s:1", greeting=greeting)
    assert (type(error), str(error)) == (kind, text)


@pytest.mark.parametrize(
    ("refuse", "minor", "kind"),
    [((REFUSED, "another drives it"), 2, HelloRefusedError), ((LOST, "busy"), 2, StreamLostError)],
)
async def test_a_greeting_that_is_not_welcome(refuse, minor, kind):
    solver = ScriptedSolver()
    solver.refuse, solver.minor = refuse, minor
    async with running_solver(solver) as port:
        with pytest.raises(kind, match=refuse[1]):
            await ask_welcome(f"127.0.0.1:{port}", hello_of("c", "p"), None)


async def test_solvers_are_asked_in_turn_from_the_first_on():
    first, second = ScriptedSolver(), ScriptedSolver()
    second.needs = frozenset({"containers"})
    async with running_solver(first) as one, running_solver(second) as two:
        targets = [f"127.0.0.1:{one}", f"127.0.0.1:{two}"]
        assert await ask(targets, "c", "p", 10.0, random=Random(1)) == frozenset()
        assert first.hellos
        assert not second.hellos
        first.refuse = (LOST, "busy")
        assert await ask(targets, "c", "p", 10.0, random=Random(1)) == frozenset({"containers"})
        assert second.hellos
        second.refuse = (REFUSED, "no")
        assert await ask(targets, "c", "p", 10.0, random=Random(1)) is None, "who refuses is not asked again"


async def test_a_stream_ends_when_certificates_change_and_not_while_they_are_missing(tmp_path):
    files = TlsFiles(*(tmp_path / name for name in ("cert", "key", "ca")))
    for file in (files.certificate, files.key, files.authority):
        file.write_text("old")
    shown = files.read()
    files.key.unlink()
    watching = asyncio.create_task(credentials_changed(files, shown, 0.001))
    await stays(lambda: not watching.done(), 0.02)
    files.key.write_text("old")
    await stays(lambda: not watching.done(), 0.02)
    files.key.write_text("new")
    with pytest.raises(CredentialsChangedError):
        await asyncio.wait_for(watching, 10.0)
