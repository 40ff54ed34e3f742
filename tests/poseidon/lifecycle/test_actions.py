"""What actions say unless told otherwise."""

from __future__ import annotations

from poseidon.kube.api.metadata import PodRef
from poseidon.lifecycle.actions import AnnounceUnschedulable, Bind
from poseidon.lifecycle.evictions.rate import EvictionLimits, EvictionRate

REF = PodRef("u", "shop", "web")


def test_nothing_has_been_complained_of_and_solvers_decide():
    assert Bind(REF, "n1").complained is False
    assert AnnounceUnschedulable(REF, "no room", False).undecided is False


def test_evictions_begin_with_a_burst_and_go_on_at_their_rate():
    now = [100.0]
    rate = EvictionRate(EvictionLimits(), lambda: now[0])
    assert rate.allows(5000)
    assert not rate.allows(1)
    now[0] += 1.0
    assert not rate.allows(51)
    assert rate.allows(50)
    assert not rate.allows(1)


def test_those_that_go_together_may_be_more_than_a_burst_but_only_all_at_once():
    now = [100.0]
    rate = EvictionRate(EvictionLimits(per_second=1.0, burst=10), lambda: now[0])
    assert rate.allows(25)
    now[0] += 15.0
    assert not rate.allows(1)
    now[0] += 1.0
    assert rate.allows(1)
    now[0] += 9.0
    assert not rate.allows(11)
    now[0] += 1.0
    assert rate.allows(11)
