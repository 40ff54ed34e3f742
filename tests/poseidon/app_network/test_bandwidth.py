"""The ledger of bandwidth against a count over all pairs of pods, whatever comes and goes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from poseidon.app_network.spec.keys import Domain
from poseidon.app_network.used_bandwidth import BandwidthLedger, Demand, Member

DOMAINS = [Domain("r1", "z1"), Domain("r1", "z2"), Domain("r2", "z3"), Domain("", "z4"), Domain("r2", "")]


def test_pairs_within_a_zone_count_nothing_and_regions_go_before_zones():
    ledger = BandwidthLedger()
    ledger.set_demands("app", (Demand("a", "b", 10),))
    ledger.put("a1", Member("app", "a", Domain("r1", "z1")))
    ledger.put("b1", Member("app", "b", Domain("r1", "z1")))
    assert ledger.sum_allocated() == {"region": {}, "zone": {}}
    ledger.put("b2", Member("app", "b", Domain("r1", "z2")))
    ledger.put("b3", Member("app", "b", Domain("r2", "z9")))
    assert ledger.sum_allocated() == {"region": {"r1": {"r2": 10}}, "zone": {"z1": {"z2": 10}}}
    ledger.put("a1", Member("app", "a", Domain("r2", "z9")))
    assert ledger.sum_allocated() == {"region": {"r2": {"r1": 20}}, "zone": {}}
    ledger.remove("a1")
    assert ledger.sum_allocated() == {"region": {}, "zone": {}}


_changes = st.lists(
    st.one_of(
        st.tuples(
            st.just("put"),
            st.integers(0, 9),
            st.builds(Member, st.sampled_from("xy"), st.sampled_from("abc"), st.sampled_from(DOMAINS)),
        ),
        st.tuples(st.just("remove"), st.integers(0, 9), st.none()),
        st.tuples(
            st.just("demand"),
            st.sampled_from("xy"),
            st.lists(
                st.builds(Demand, st.sampled_from("abc"), st.sampled_from("abc"), st.integers(0, 5)),
                max_size=4,
            ).map(tuple),
        ),
        st.tuples(st.just("look"), st.none(), st.none()),
    ),
    max_size=40,
)


@given(_changes)
def test_against_all_pairs(changes):
    ledger = BandwidthLedger()
    pods, demands = {}, {}
    for what, subject, value in changes:
        if what == "put":
            pods[subject] = value
            ledger.put(str(subject), value)
        elif what == "remove":
            pods.pop(subject, None)
            ledger.remove(str(subject))
        elif what == "demand":
            demands[subject] = value
            ledger.set_demands(subject, value)
        else:
            ledger.sum_allocated()
    assert ledger.sum_allocated() == _by_pairs(pods, demands)


def _by_pairs(pods, demands):
    found: dict[str, dict[str, dict[str, int]]] = {"region": {}, "zone": {}}
    for number, pod in pods.items():
        for other_number, other in pods.items():
            if number == other_number or pod.app_group != other.app_group:
                continue
            for demand in demands.get(pod.app_group, ()):
                if (demand.workload, demand.dependency) != (pod.workload, other.workload):
                    continue
                here, there = pod.domain, other.domain
                level, ends = "zone", (here.zone, there.zone)
                if here.region != there.region:
                    level, ends = "region", (here.region, there.region)
                if all(ends) and ends[0] != ends[1] and demand.bandwidth:
                    row = found[level].setdefault(ends[0], {})
                    row[ends[1]] = row.get(ends[1], 0) + demand.bandwidth
    return found
