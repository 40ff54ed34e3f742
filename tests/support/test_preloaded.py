"""What is forked is a process like others, with a session, outputs and an end of its own; so is a quick interpreter."""

from __future__ import annotations

import marshal
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from poseidon.testbed.harness.child import Child
from tests.support import preloaded
from tests.support.preloaded import FOLDER, process_of, quick_python, server
from tests.support.waiting import until, wait_until

ROOT = Path(__file__).resolve().parents[2]
PARENT = """
import sys
from tests.support import preloaded
command = ["firmament", "serve", "--listen", "127.0.0.1:0"]
number, *kept = preloaded.start(command, {}, (2, 2))
print(number, flush=True)
sys.stdin.read()
"""
WAITING = "import os, time; print(os.getpid(), flush=True)\nwhile True: time.sleep(0.05)"
"""A signal that comes just before a sleep waits for its end, so these are short."""


async def test_it_ends_with_the_status_of_its_program(tmp_path):
    for arguments, status, said in ((["--version"], 0, "firmament, version "), (["nothing"], 2, "nothing")):
        child = Child("it", "firmament", arguments, tmp_path / str(status), preloaded.fork)
        await child.start()
        assert await child.wait() == status
        assert said in child.tail()
        assert not child.alive


async def test_it_is_a_process_that_can_be_killed(tmp_path):
    arguments = ["serve", "--listen", "127.0.0.1:0"]
    child = Child("it", "firmament", arguments, tmp_path / "log", preloaded.fork)
    await child.start()
    await child.read_address()
    assert os.getsid(child.pid) == child.pid
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


def wait_for_end(number: int) -> None:
    wait_until(lambda: not psutil.pid_exists(number), what="its end")


def test_it_ends_with_whoever_started_it():
    parent = subprocess.Popen(
        [quick_python(), "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert parent.stdout is not None
    made = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    wait_for_end(made)


def quick(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [quick_python(), *arguments], capture_output=True, text=True, check=False, **options
    )  # type: ignore[call-overload]


@pytest.mark.parametrize("python", [sys.executable, ""], ids=["real", "quick"])
def test_a_quick_interpreter_does_as_a_real_one(python, tmp_path):
    code = (
        "import os, sys; print(sys.argv[1:], sys.stdin.read(), os.getcwd(), os.environ['HERE']); sys.exit(7)"
    )
    environment = {"HERE": "é"}
    words = [python or quick_python(), "-P", "-c", code, "a", "-b"]
    done = subprocess.run(
        words, input="said", capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert done.stdout == f"['a', '-b'] said {tmp_path} é\n"
    assert (done.returncode, done.stderr) == (7, "")


def test_a_quick_interpreter_runs_modules_and_leaves_scripts_to_a_real_one(tmp_path):
    assert quick("-m", "firmament", "--version").stdout.startswith("firmament, version ")
    script = tmp_path / "script.py"
    script.write_text("import sys; print(sys.executable, sys.argv[1:])")
    assert quick(str(script), "x").stdout == f"{sys.executable} ['x']\n"
    code = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import sys; print(sys.executable)'])"
    )
    assert quick("-c", code).stdout == f"{quick_python()}\n"


def test_a_quick_interpreter_passes_descriptors_on():
    reading, writing = os.pipe()
    with os.fdopen(reading) as told:
        done = quick("-c", f"import os; os.write({writing}, b'told')", pass_fds=(writing,))
        os.close(writing)
        assert (done.returncode, told.read()) == (0, "told")


def waiting() -> tuple[subprocess.Popen[str], int]:
    made = subprocess.Popen(
        [quick_python(), "-c", WAITING], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert made.stdout is not None
    return made, int(made.stdout.readline())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_reach_what_runs_for_a_quick_interpreter(number):
    made, process = waiting()
    assert process_of(made.pid) == process
    made.send_signal(number)
    made.communicate()
    assert made.returncode == -number
    wait_for_end(process)
    with pytest.raises(ProcessLookupError):
        process_of(made.pid)


def test_a_quick_interpreter_ends_as_what_runs_for_it_is_killed():
    made, process = waiting()
    os.kill(process, signal.SIGKILL)
    made.communicate()
    assert made.returncode == -signal.SIGKILL


def test_who_does_not_read_the_answer_is_no_harm_to_others():
    quick("-c", "")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(str(server() / "orders"))
    connection.send(marshal.dumps(0))
    select.select([connection], [], [], 60)
    connection.close()
    assert quick("-c", "import sys; print(sys.executable)").stdout == f"{quick_python()}\n"


@pytest.fixture
def lost_server(tmp_path, monkeypatch):
    """A server that has ended; afterwards the one that all tests share serves again."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    server.cache_clear()
    yield tmp_path
    server.cache_clear()


async def test_a_server_that_is_gone_is_started_anew(lost_server, tmp_path):
    child = Child("it", "firmament", ["--version"], tmp_path / "log", preloaded.fork)
    await child.start()
    assert await child.wait() == 0
    assert server() != lost_server


def test_a_quick_interpreter_without_a_server_is_a_real_one(tmp_path):
    program = tmp_path / "python"
    text = Path(quick_python()).read_text().replace(str(server() / "orders"), str(tmp_path / "orders"))
    program.write_text(text)
    program.chmod(0o755)
    done = subprocess.run(
        [program, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{sys.executable}\n"
