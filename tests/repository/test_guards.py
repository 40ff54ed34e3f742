"""The guards that watch every test are heard themselves: each is tripped once."""

from __future__ import annotations

import pytest

from poseidon.kube.quarantine import Quarantine
from tests.support.set_aside import nothing_set_aside

pytest_plugins = ["pytester"]

_CONFTEST = "from tests.conftest import _nothing_set_aside, may_set_aside  # noqa: F401"

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
