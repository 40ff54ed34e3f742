"""What is forked is a process like others: a child of this one, with a session, outputs and an end of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from poseidon.testbed.harness.child import Child
from tests.support import preloaded
from tests.support.waiting import until, wait_until

ROOT = Path(__file__).resolve().parents[2]
PARENT = """
import os, sys
from tests.support import preloaded
command = ["firmament", "serve", "--listen", "127.0.0.1:0"]
print(preloaded.start(command, os.environ, (2, 2)), flush=True)
sys.stdin.read()
"""


async def test_it_ends_with_the_status_of_its_program(tmp_path):
    for arguments, status, said in ((["--version"], 0, "firmament, version "), (["nothing"], 2, "nothing")):
        child = Child("it", "firmament", arguments, tmp_path / str(status), preloaded.fork)
        await child.start()
        assert await child.wait() == status
        assert said in child.tail()
        assert not child.alive


async def test_it_is_a_child_of_this_process_and_can_be_killed(tmp_path):
    arguments = ["serve", "--listen", "127.0.0.1:0"]
    child = Child("it", "firmament", arguments, tmp_path / "log", preloaded.fork)
    await child.start()
    assert psutil.Process(child.pid).ppid() == os.getpid()
    assert os.getsid(child.pid) == child.pid
    await child.read_address()
    assert await child.stop(60) == 0
    await child.start()
    child.signal(signal.SIGKILL)
    assert await child.wait() == -signal.SIGKILL


async def test_several_are_apart(tmp_path):
    children = [
        Child("it", "firmament", ["serve", "--listen", "127.0.0.1:0"], tmp_path / name, preloaded.fork)
        for name in "ab"
    ]
    for child in children:
        await child.start()
    addresses = {await child.read_address() for child in children}
    assert len(addresses) == 2
    children[0].signal(signal.SIGKILL)
    await until(lambda: not children[0].alive)
    assert children[1].alive
    assert await children[1].stop(60) == 0


def test_it_ends_with_its_parent():
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert parent.stdout is not None
    made = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.communicate()
    wait_until(lambda: not made.is_running() or made.status() == psutil.STATUS_ZOMBIE, what="its end")
