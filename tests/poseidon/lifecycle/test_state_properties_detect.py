"""The histories of the bridge notice when it is broken: each of these states lacks one thing that they rely on."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from poseidon.bridge.state import BridgeState
from poseidon.lifecycle.pending_bindings import Dependencies
from poseidon.lifecycle.phases import Event
from poseidon.lifecycle.pod_records import PodRecords
from tests.poseidon.bridge.test_state_properties import Cluster

pytestmark = pytest.mark.full

SEARCH = settings(
    max_examples=250,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


class Impatient(Dependencies):
    """Holds a pod back for the first of those that it waits for alone."""

    def hold(self, uid, on):
        super().hold(uid, sorted(on)[:1])


class Forgetful(PodRecords):
    """Does not remember whom it has asked to leave."""

    def move(self, record, event, node=""):
        if event is not Event.EVICTED:
            super().move(record, event, node)


class Discreet(BridgeState):
    """Reports nothing but bindings that hold."""

    def take_reports(self):
        return [each for each in super().take_reports() if each.bound]


class Hasty(Cluster):
    """Binds before all have gone."""

    def make_state(self):
        state = BridgeState()
        waiting = state.pending_bindings
        waiting.dependencies = Impatient()
        return state


class Unmindful(Cluster):
    """Takes those who were asked to leave for gone."""

    def make_state(self):
        state = BridgeState()
        state.tasks.__class__ = Forgetful
        return state


class Silent(Cluster):
    """Tells the solver of bindings that hold, and never of others."""

    def make_state(self):
        return Discreet()


@pytest.mark.parametrize("broken", [Hasty, Unmindful, Silent])
def test_a_broken_bridge_is_noticed(broken: type[Cluster]):
    with pytest.raises(AssertionError):
        run_state_machine_as_test(broken, settings=SEARCH)
