"""Measured latencies: keys, units, faults; and the costs that follow between regions and zones."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poseidon.app_network.spec.keys import Domain
from poseidon.app_network.spec.netperf import (
    domain_costs,
    is_measurement,
    measurement_keys,
    read_measurements,
)

NODES = {
    "a": Domain("west", "z1"),
    "b": Domain("west", "z2"),
    "c": Domain("east", "z3"),
    "d": Domain("east", "z4"),
    "e": Domain("north", "z5"),
    "bare": Domain(),
}


FAR = 10**9


def _mean(values):
    return -(-sum(values) // len(values)) if values else FAR


class TestReading:
    @pytest.mark.parametrize(
        ("key", "value", "expected"),
        [
            ("netperf.p90.latency.milliseconds.origin.n1.destination.n2", "7", 7),
            ("netperf_p90_latency_microseconds.origin.n1.destination.n2", "7000", 7),
            ("netperf_p90_latency_microseconds.origin.n1.destination.n2", "7001", 8),
            ("netperf_p90_latency_microseconds.origin.n1.destination.n2", "0.5", 1),
            ("netperf.p90.latency.microseconds.origin.n1.destination.n2", "1", 1),
            ("netperf_p90_latency_milliseconds.origin.n1.destination.n2", " 6.2\n", 7),
            ("netperf.p90.latency.milliseconds.origin.n1.destination.n2", "0", 0),
        ],
    )
    def test_both_forms_and_units(self, key, value, expected):
        assert read_measurements({key: value}) == ({("n1", "n2"): expected}, ())

    def test_node_names_may_have_dots(self):
        key = "netperf.p90.latency.milliseconds.origin.a.b.example.destination.c.d.example"
        assert read_measurements({key: "1"})[0] == {("a.b.example", "c.d.example"): 1}

    def test_only_the_wanted_percentile_counts(self):
        data = {
            measurement_keys(each, ("a", "b"))["milliseconds"]: each[1:] for each in ("p50", "p90", "p99")
        }
        assert [read_measurements(data, each)[0] for each in ("p50", "p90", "p99")] == [
            {("a", "b"): 50},
            {("a", "b"): 90},
            {("a", "b"): 99},
        ]

    def test_milliseconds_count_where_both_are_given(self):
        keys = measurement_keys("p90", ("a", "b"))
        assert read_measurements({keys["milliseconds"]: "3", keys["microseconds"]: "9000"})[0] == {
            ("a", "b"): 3
        }

    @pytest.mark.parametrize("value", ["", "fast", "-5", "1e3", "nan", "٣", "9" * 16])
    def test_wrong_values_are_faults(self, value):
        key = "netperf.p90.latency.milliseconds.origin.n1.destination.n2"
        found, (defect,) = read_measurements({key: value})
        assert found == {}
        assert key in defect.field

    def test_other_keys_are_not_looked_at(self):
        data = {"README": "x", "netperf.p90.throughput.origin.a.destination.b": "x"}
        assert read_measurements(data) == ({}, ())
        assert not any(map(is_measurement, data))


class TestCosts:
    def test_regions_and_zones_of_one_region(self):
        measured = {("a", "c"): 20, ("a", "b"): 5, ("c", "d"): 7}
        assert domain_costs(measured, NODES) == {
            "region": {"west": {"east": 20}, "east": {"west": 20}},
            "zone": {"z1": {"z2": 5}, "z2": {"z1": 5}, "z3": {"z4": 7}, "z4": {"z3": 7}},
        }

    def test_the_mean_over_pairs_and_directions_rounded_up(self):
        measured = {("a", "c"): 20, ("c", "a"): 21, ("b", "d"): 30, ("d", "b"): 30}
        assert domain_costs(measured, NODES)["region"]["west"] == {"east": 26}

    def test_a_shorter_way_through_others_counts(self):
        measured = {("a", "c"): 100, ("a", "e"): 10, ("e", "c"): 15}
        assert domain_costs(measured, NODES)["region"]["west"] == {"east": 25, "north": 10}

    def test_unknown_and_unlabelled_nodes_do_not_count(self):
        assert domain_costs({("a", "gone"): 5, ("a", "bare"): 5}, NODES) == {"region": {}, "zone": {}}

    @given(
        st.dictionaries(
            st.sampled_from([pair for pair in product(NODES, NODES) if pair[0] != pair[1]]),
            st.integers(0, 50),
        )
    )
    def test_against_plain_arithmetic(self, measured):
        """Floyd and Warshall's algorithm on dense tables, which shares nothing with the search."""
        for level, name in (("region", 0), ("zone", 1)):
            samples: dict[frozenset[str], list[int]] = {}
            for (n, m), value in measured.items():
                a, b = NODES[n], NODES[m]
                if (
                    (a.region != b.region) == (level == "region")
                    and a[name]
                    and b[name]
                    and a[name] != b[name]
                ):
                    samples.setdefault(frozenset((a[name], b[name])), []).append(value)
            names = sorted({each for pair in samples for each in pair})
            table = {
                (x, y): _mean(samples.get(frozenset((x, y)))) if x != y else 0
                for x, y in product(names, names)
            }
            for k, x, y in product(names, names, names):
                table[x, y] = min(table[x, y], table[x, k] + table[k, y])
            expected = {x: {y: table[x, y] for y in names if y != x and table[x, y] < FAR} for x in names}
            assert domain_costs(measured, NODES)[level] == expected
