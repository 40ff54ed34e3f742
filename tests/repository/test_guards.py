"""The guards that watch every test are heard themselves: each is tripped once."""

from __future__ import annotations

import logging

import pytest

from firmament.core.state import transitions
from poseidon.kube.quarantine import Quarantine
from poseidon.lifecycle.phases import Phase
from tests.poseidon.bridge.objects import pod, present
from tests.poseidon.bridge.test_state import Harness
from tests.repository.definitions import ROOT
from tests.support.checked_transitions import checked
from tests.support.core import machine, scheduler, tasks
from tests.support.pod_invariants import violations
from tests.support.set_aside import nothing_set_aside

pytest_plugins = ["pytester"]

_CONFTEST = "from tests.conftest import _nothing_left, may_set_aside  # noqa: F401"

_TESTS = """
import pytest
from poseidon.kube.quarantine import Quarantine

def test_sets_aside():
    Quarantine().set_aside("pods", "p", ValueError("odd"), name="ns/p")

@pytest.mark.usefixtures("may_set_aside")
def test_sets_aside_and_says_so():
    test_sets_aside()

def test_sets_nothing_aside():
    pass
"""


@pytest.mark.usefixtures("may_set_aside")
def test_what_is_set_aside_is_noticed_and_named():
    with pytest.raises(AssertionError, match="name=ns/p"), nothing_set_aside():
        Quarantine().set_aside("pods", "p", ValueError("odd"), name="ns/p")


@pytest.mark.usefixtures("may_set_aside")
def test_a_test_that_sets_something_aside_fails_unless_it_says_so(pytester):
    pytester.makeconftest(_CONFTEST)
    pytester.makepyfile(_TESTS)
    outcome = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "ignore")
    outcome.assert_outcomes(passed=3, errors=1)
    outcome.stdout.fnmatch_lines(["ERROR *::test_sets_aside*"])


# --- books of the solver ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", ["apply", "report", "close_round"])
def test_books_that_are_spoilt_are_noticed_by_whatever_a_scheduler_does_next(act):
    with checked():
        made = scheduler(machine(), *tasks(1, "a"))
        opened = made.open_round()
        placement = opened.solve()
        made._cluster.machines.used[0, 0] += 1
        arguments: tuple[object, ...] = (opened, placement) if act == "close_round" else ([],)
        with pytest.raises(AssertionError):
            getattr(made, act)(*arguments)


def test_a_change_of_a_task_that_leads_elsewhere_is_noticed(monkeypatch):
    monkeypatch.setattr(transitions, "assume", lambda *_: None)
    with checked():
        made = scheduler(machine(), *tasks(1, "a"))
        with pytest.raises(AssertionError, match="leads elsewhere"):
            made.run_round()


def test_what_is_checked_is_as_before_afterwards():
    before = transitions.assume
    with checked():
        assert transitions.assume is not before
    assert transitions.assume is before


# --- pods of the bridge ----------------------------------------------------------------------------------------------


@pytest.fixture
def bridge():
    """One pod that runs, and one that waits."""
    harness = Harness()
    harness.pods(present(pod("a", node="n1", phase="Running")), present(pod("b")))
    assert not violations(harness.state)
    return harness.state


def test_a_pod_whose_place_is_not_that_of_its_phase_is_named(bridge):
    record = next(each for each in bridge.tasks if each.task.uid == "pod-b")
    record.phase = Phase.PLACED
    assert any("b is" in each and "nothing has been decided of it" in each for each in violations(bridge))


def test_a_node_of_which_somebody_is_missing_is_named(bridge):
    bridge.tasks._on_node["n1"].clear()
    assert any(each.startswith("node n1 has []") for each in violations(bridge))


def test_a_node_whose_requests_are_miscounted_is_named(bridge):
    bridge.requested._used["n1"]["cpu"] += 1
    assert any(each.startswith("node n1 counts") for each in violations(bridge))


# --- logs ------------------------------------------------------------------------------------------------------------

_LEVELS = """
import logging

def test_sets_a_level():
    logging.getLogger("poseidon").setLevel(logging.CRITICAL)

def test_finds_none():
    assert logging.getLogger("poseidon").level != logging.CRITICAL
"""

_FAILING = """
import pytest

@pytest.fixture
def fails_before():
    raise RuntimeError("before")

@pytest.fixture
def fails_afterwards():
    yield
    raise RuntimeError("afterwards")

def test_is_not_set_up(fails_before):
    pass

def test_is_not_torn_down(fails_afterwards):
    pass

@pytest.mark.skip
def test_is_skipped():
    pass

def test_passes():
    pass

def test_fails():
    assert False
"""

_STUMBLES = """
import logging

def test_stumbles():
    logging.getLogger("firmament.server").error("stumbled over a driver")

def test_has_a_round_that_fails():
    logging.getLogger("firmament.server").error("round failed cluster=c")
"""


def test_levels_of_logs_that_a_test_leaves_behind_are_set_back(pytester):
    before = logging.getLogger("poseidon").level
    pytester.makeconftest("from tests.conftest import _nothing_left  # noqa: F401")
    pytester.makepyfile(_LEVELS)
    pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "ignore").assert_outcomes(passed=2)
    assert logging.getLogger("poseidon").level == before


def test_workers_report_all_that_does_not_pass(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeconftest("from tests.conftest import pytest_runtest_protocol  # noqa: F401")
    pytester.makepyfile(_FAILING)
    outcome = pytester.runpytest_subprocess("-n", "1", "-p", "no:cacheprovider", "-W", "ignore")
    outcome.assert_outcomes(passed=2, failed=1, skipped=1, errors=2)


def test_an_error_that_a_server_logs_fails_its_test(pytester):
    pytester.makeconftest("from tests.firmament.server.conftest import _no_internal_errors  # noqa: F401")
    pytester.makepyfile(_STUMBLES)
    outcome = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "ignore")
    outcome.assert_outcomes(passed=2, errors=1)
    outcome.stdout.fnmatch_lines(["ERROR *::test_stumbles*"])
