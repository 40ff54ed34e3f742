"""Settings shared by all property tests: the same examples on every run and machine, nothing written to disk.

With the environment variable ``EXPLORE`` set, other examples are drawn on every run; ``EFFORT`` says how many. With
``-n auto`` there are as many workers as take the least time, and each begins with its share of the tests that wait.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

from tests.support.effort import EFFORT, examples
from tests.support.order import dealt, import_share, workers
from tests.support.preloaded import FOLDER, quick_python, server
from tests.support.set_aside import nothing_set_aside
from tests.support.time_limits import stretch
from tests.support.waiting import Terminal

# Which of equally good places a task gets may depend on the last digit of a product of matrices, and that on what
# OpenBLAS has for the processor. Documents show what one family of processors leads to. Read when numpy is loaded.
os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

# A solver that runs in a test's process forks; read when gRPC is imported (``firmament.server.process_copy``).
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# No test asks a server for which a public authority vouches; each process that imports aiohttp would read all of them.
os.environ["SSL_CERT_FILE"] = os.devnull

settings.register_profile(
    "property",
    derandomize="EXPLORE" not in os.environ,
    print_blob="EXPLORE" in os.environ,  # says how to draw a failing example again
    database=None,
    deadline=None,
    max_examples=examples(100),
    # Histories of a cluster are large inputs; drawing them is slow beside what is usual, not in absolute terms.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("property")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session):
    """Have each worker import its share of all tests first, and look for no garbage until all tests are known.

    Where nothing is compiled yet, as in a fresh clone, importing takes half a minute, and all would do the same at
    once. What is made until all tests are known stays: looking for garbage in it takes a third of the time.
    """
    config = session.config
    gc.disable()
    try:
        if hasattr(config, "workerinput") and [Path(each).name for each in config.args] == config.getini(
            "testpaths"
        ):
            number = int(config.workerinput["workerid"].removeprefix("gw"))
            import_share(Path(__file__).parent, number, config.workerinput["workercount"])
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(config, items):
    """Leave out what is marked ``full`` where no full run is wanted, and put the rest in the order of workers."""
    left_out = [item for item in items if EFFORT < 1 and item.get_closest_marker("full")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    if hasattr(config, "workerinput"):
        parts = config.workerinput["workercount"]
        items[:] = dealt(items, parts, lambda item: item.nodeid.partition("::")[0])


def pytest_collection_finish():
    """Set aside for the collector of garbage what all tests are: with them, each full collection takes 0.5 s."""
    gc.freeze()


def pytest_configure(config):
    """Stretch the limit of each test as others are, and let those that wait long say so on the terminal.

    Refuses paths that do not exist: workers would end without a word.
    """
    for each in config.args:
        if not (config.invocation_params.dir / each.partition("::")[0]).exists():
            raise pytest.UsageError(f"file or directory not found: {each}")
    if config.getoption("timeout", None) is None:
        config.option.timeout = stretch(float(config.getini("timeout")))
    if not hasattr(config, "workerinput") and config.getoption("numprocesses", None) not in (None, 0, 1):
        os.environ[FOLDER] = str(server())  # one for all workers
    capturing = config.pluginmanager.getplugin("capturemanager")
    if capturing is not None:
        Terminal.uncaptured = capturing.global_and_fixture_disabled


def pytest_runtest_protocol(item, nextitem):
    """Have workers report of what passed only the call: half of what each test costs pytest is three reports.

    Set-up and tear-down that fail, or are skipped, are reported as ever.
    """
    if not hasattr(item.config, "workerinput") or item.config.option.durations is not None:
        return None
    about = {"nodeid": item.nodeid, "location": item.location}
    item.ihook.pytest_runtest_logstart(**about)
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(**about)
    return True


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """What ``-n auto`` stands for; where a machine is shared with others, xdist's own variable says it."""
    given = os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS")
    return int(given) if given else workers(os.cpu_count() or 1)


@pytest.fixture
def forked_programs(monkeypatch):
    """For tests of what starts programs by itself: these are forked, which takes up to a second of a core less each."""
    monkeypatch.setattr(sys, "executable", quick_python())


@pytest.fixture
def may_set_aside():
    """For tests in which something cannot be dealt with; elsewhere that would be a fault that goes unseen."""


@pytest.fixture(autouse=True)
def _nothing_left(request):
    """Each test sets nothing aside, and leaves the levels of logs as they were: commands that run here set them."""
    loggers = [logging.getLogger(name) for name in ("", "poseidon", "firmament")]
    levels = [each.level for each in loggers]
    try:
        with nullcontext() if "may_set_aside" in request.fixturenames else nothing_set_aside():
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            if logger.level != level:
                logger.setLevel(level)
