"""Which machines the model refuses, for which reason, by upstream's filter."""

from __future__ import annotations

import pytest

from cost_models.checks.sample_inputs import Case
from cost_models.conformance import check_model
from cost_models.interface import ModelArgumentError
from cost_models.numa.numa_fit import NumaFit
from cost_models.numa.requests import HINT
from tests.cost_models.numa.builders import GIB, batch, columns, container, payload, shape, zone

CAPACITY = {"cpu": 64_000, "memory": 64 * GIB, "ephemeral-storage": 100 * GIB, "example.com/gpu": 8}
SMALL = zone(0, {"cpu": 4000, "memory": 4 * GIB, "example.com/gpu": 0})
LARGE = zone(1, {"cpu": 8000, "memory": 8 * GIB, "example.com/gpu": 2})


def verdict(row, *zones, now=0.0, arguments=None, **record):
    """The reason for which a machine is refused, "" if it is not; without zones it has no record."""
    machines = columns({"a": payload(*zones, **record) if zones else b""}, CAPACITY, now=now)
    answer = NumaFit(**(arguments or {})).assess(machines, batch([row], machines.resources))
    reasons = [reason for reason, refused in answer.refusals(0) if refused[0]]
    assert len(reasons) <= 1
    return reasons[0] if reasons else ""


def test_a_guaranteed_container_needs_one_zone():
    assert verdict(shape(container("c", cpu=8000, memory=8 * GIB)), SMALL, LARGE) == ""
    assert verdict(shape(container("c", cpu=9000)), SMALL, LARGE) == "cannot align container: c"


def test_containers_take_the_lowest_zone_in_their_order():
    small, large = container("small", cpu=4000), container("large", cpu=8000)
    assert verdict(shape(small, large), SMALL, LARGE) == ""
    assert (
        verdict(shape(small, container("more", cpu=5000), large), SMALL, LARGE)
        == "cannot align container: large"
    )
    assert verdict(shape(small, large), zone(0, {"cpu": 8000}), zone(1, {"cpu": 4000})) == (
        "cannot align container: large"
    )


def test_in_pod_scope_one_zone_takes_all():
    row = shape(container("a", cpu=4000), container("b", cpu=4000))
    assert verdict(row, SMALL, LARGE, scope="pod") == ""
    assert (
        verdict(shape(*row.containers, overhead=(("cpu", 1000),)), SMALL, LARGE, scope="pod")
        == "cannot align pod"
    )
    assert (
        verdict(shape(container("i", "init", cpu=9000), *row.containers), LARGE, scope="pod")
        == "cannot align pod"
    )


def test_init_containers_are_tried_alone_against_untouched_zones():
    app = container("c", cpu=8000)
    assert verdict(shape(container("i", "init", cpu=8000), app), SMALL, LARGE) == ""
    assert (
        verdict(shape(container("i", "init", cpu=9000), app), SMALL, LARGE)
        == "cannot align init container: i"
    )
    assert (
        verdict(shape(container("s", "sidecar", cpu=9000), app), LARGE) == "cannot align sidecar container: s"
    )


def test_sidecars_keep_what_they_take_if_it_is_asked_for():
    row = shape(container("s", "sidecar", cpu=1000), container("c", cpu=8000))
    assert verdict(row, LARGE) == ""
    assert verdict(row, LARGE, arguments={"sidecars": "kubelet"}) == "cannot align container: c"


@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted"])
def test_other_policies_pass_unchecked(policy):
    assert verdict(shape(container("c", cpu=9000)), SMALL, policy=policy) == ""


class TestQualityOfService:
    def test_only_devices_are_aligned_for_pods_that_are_not_guaranteed(self):
        assert verdict(shape(container("c", cpu=9000, gpu=2), qos="Burstable"), SMALL, LARGE) == ""
        assert (
            verdict(shape(container("c", gpu=3), qos="Burstable"), SMALL, LARGE)
            == "cannot align container: c"
        )

    def test_but_a_zone_must_list_what_they_request(self):
        assert verdict(shape(container("c", memory=1), qos="Burstable"), zone(0, {"cpu": 1})) == (
            "cannot align container: c"
        )

    def test_best_effort_pods_pass_unless_they_ask_for_devices(self):
        assert verdict(shape(container("c"), qos="BestEffort"), zone(0, {"cpu": 0})) == ""
        assert verdict(shape(container("c", gpu=3), qos="BestEffort"), LARGE) == "cannot align container: c"

    def test_containers_that_are_not_described_count_as_guaranteed(self):
        machines = columns({"a": payload(SMALL)}, CAPACITY)
        rows = batch([shape(container("c", cpu=5000))], machines.resources)
        bare = type(rows)(rows.requests, rows.counts, [shape(qos="")])
        feasible = NumaFit().assess(machines, bare).feasible
        assert feasible is not None
        assert not feasible[0, 0]


class TestResources:
    def test_what_no_zone_lists_is_ignored_if_it_belongs_to_the_host(self):
        asked = {"ephemeral-storage": 10 * GIB}
        assert verdict(shape(container("c", "app", cpu=1000, **asked)), SMALL) == ""
        assert verdict(shape(container("c", cpu=1000, gpu=1)), zone(0, {"cpu": 4000})) == ""

    def test_a_device_that_some_zone_lists_must_fit_there(self):
        plain = zone(0, {"cpu": 8000})
        assert verdict(
            shape(container("c", cpu=6000, gpu=1)), plain, zone(1, {"cpu": 4000, "example.com/gpu": 1})
        ) == ("cannot align container: c")

    def test_memory_that_no_zone_lists_fits_nowhere(self):
        assert verdict(shape(container("c", memory=1)), zone(0, {"cpu": 4000})) == "cannot align container: c"

    def test_what_the_machine_does_not_have_fits_nowhere(self):
        assert (
            verdict(shape(container("c", "app", **{"example.com/nic": 1})), SMALL)
            == "cannot align container: c"
        )

    def test_nothing_asked_is_aligned_with_nothing(self):
        assert verdict(shape(container("c", cpu=0)), zone(0, {})) == ""

    def test_the_proposal_lets_memory_pass(self):
        row = shape(container("c", cpu=1000, memory=60 * GIB))
        assert verdict(row, SMALL) == "cannot align container: c"
        assert verdict(row, SMALL, arguments={"memoryAlignment": "proposal"}) == ""
        assert (
            verdict(shape(container("c", cpu=9000)), SMALL, arguments={"memoryAlignment": "proposal"}) != ""
        )


class TestMissingAndStaleData:
    def test_unknown_machines(self):
        row = shape(container("c", cpu=1000))
        assert verdict(row) == ""
        assert verdict(row, arguments={"missingTopology": "refuse"}) == "no node topology data"
        assert verdict(shape(container("c"), qos="BestEffort"), arguments={"missingTopology": "refuse"}) == ""

    @pytest.mark.parametrize(("stale", "expected"), [("use", "cannot align container: c"), ("ignore", "")])
    def test_stale_records(self, stale, expected):
        arguments = {"staleAfterSeconds": 60, "staleTopology": stale}
        row = shape(container("c", cpu=9000))
        assert verdict(row, SMALL, now=100.0, arguments=arguments, updated=10.0) == expected

    def test_stale_records_may_close_a_machine(self):
        arguments = {"staleAfterSeconds": 60, "staleTopology": "refuse"}
        row = shape(container("c", cpu=1000))
        assert (
            verdict(row, SMALL, now=100.0, arguments=arguments, updated=10.0) == "invalid node topology data"
        )
        assert verdict(row, SMALL, now=60.0, arguments=arguments, updated=10.0) == ""


def test_a_pod_may_ask_for_alignment_itself():
    hinted = shape(container("c", cpu=9000), annotations={HINT: "single-numa-node"})
    assert verdict(hinted, SMALL, policy="none") == ""
    assert verdict(hinted, SMALL, policy="none", arguments={"podHints": True}) == "cannot align container: c"
    assert verdict(hinted, arguments={"podHints": True}) == "no node topology data"


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (
            {"scoringStrategy": {"type": "MostNUMANodes"}},
            "type is 'MostNUMANodes'; it must be one of LeastAllocated",
        ),
        ({"scoringStrategy": {"resources": [{"name": "cpu", "weight": 0.5}]}}, "weight of cpu is 0.5"),
        ({"memoryAlignment": "loose"}, "memoryAlignment is 'loose'"),
        ({"modelledPolicies": ["none"]}, "modelledPolicies is ['none']"),
        ({"zones": 2}, "unknown argument 'zones'"),
    ],
)
def test_bad_arguments_are_refused(arguments, fragment):
    with pytest.raises(ModelArgumentError) as caught:
        NumaFit(**arguments)
    assert fragment in str(caught.value)


def test_upstreams_arguments_about_its_cache_are_accepted():
    NumaFit(cacheResyncPeriodSeconds=5, cache={"resyncMethod": "All"}, discardReservedNodes=True)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"scoringStrategy": {"type": "LeastNUMANodes"}, "modelledPolicies": ["restricted", "best-effort"]},
        {"scoringStrategy": {"type": "BalancedAllocation"}, "distanceCost": 3, "podHints": True},
    ],
)
def test_the_model_keeps_the_rules_for_models(arguments):
    records = {
        "a": payload(SMALL, LARGE),
        "b": payload(SMALL, LARGE, scope="pod", policy="restricted"),
        "c": payload(LARGE, policy="best-effort"),
        "d": b"",
        "e": payload(zone(7, {})),
        "f": b"no record",
    }
    machines = columns(records, CAPACITY)
    rows = [
        shape(container("c", cpu=5000, memory=GIB, gpu=1)),
        shape(container("i", "init", cpu=1000), container("c", cpu=3000), container("d", cpu=3000)),
        shape(container("c", cpu=1000), qos="Burstable"),
        shape(qos=""),
    ]
    check_model(
        NumaFit(**arguments), [Case("machines with zones", machines, batch(rows, machines.resources))]
    )


class TestSeveralShapesAndMachines:
    """Machines: one with zones, one without a record, one whose record is too old to be used."""

    def verdicts(self, *rows, **arguments):
        """Reasons by shape and machine, "" where the machine is open."""
        records = {
            "known": payload(SMALL, LARGE, updated=100.0),
            "unknown": b"",
            "stale": payload(SMALL, LARGE, updated=10.0),
        }
        machines = columns(records, CAPACITY, now=100.0)
        model = NumaFit(staleAfterSeconds=60, staleTopology="refuse", podHints=True, **arguments)
        answer = model.assess(machines, batch(rows, machines.resources))
        found = [[""] * len(records) for _ in rows]
        for shape_index, row in enumerate(found):
            for reason, refused in answer.refusals(shape_index):
                for machine in refused.nonzero()[0]:
                    assert row[machine] == "", "one reason for each machine"
                    row[machine] = reason
        return found

    def test_each_machine_is_refused_for_its_own_reason(self):
        stale = "invalid node topology data"
        small, large = shape(container("c", cpu=8000)), shape(container("c", cpu=9000))
        assert self.verdicts(small, large) == [["", "", stale], ["cannot align container: c", "", stale]]
        assert self.verdicts(small, missingTopology="refuse") == [["", "no node topology data", stale]]

    def test_who_asks_for_alignment_is_refused_by_machines_without_zones(self):
        row = container("c", cpu=8000)
        hinted = shape(row, annotations={HINT: "single-numa-node"})
        reasons = [each[1] for each in self.verdicts(shape(row), hinted)]
        assert reasons == ["", "no node topology data"]

    @pytest.mark.parametrize(
        ("first", "second", "reason"),
        [
            ([container("c", cpu=1000)], [container("c", cpu=9000)], "cannot align container: c"),
            (
                [container("i", "init", cpu=1000), container("c", cpu=1000)],
                [container("i", "init", cpu=9000), container("c", cpu=1000)],
                "cannot align init container: i",
            ),
            (
                [
                    container("i", "init", cpu=1000),
                    container("j", "init", cpu=1000),
                    container("c", cpu=1000),
                ],
                [
                    container("i", "init", cpu=1000),
                    container("j", "init", cpu=9000),
                    container("c", cpu=1000),
                ],
                "cannot align init container: j",
            ),
            (
                [container("c", cpu=8000)],
                [container("c", cpu=8000), container("d", cpu=8000)],
                "cannot align container: d",
            ),
        ],
    )
    def test_shapes_that_differ_in_one_container_are_judged_each_by_itself(self, first, second, reason):
        rows = shape(*first), shape(*second)
        assert [each[0] for each in self.verdicts(*rows)] == ["", reason]
        assert [each[0] for each in self.verdicts(*reversed(rows))] == [reason, ""]

    def test_what_one_shape_was_told_is_not_told_to_another_that_asks_for_alignment(self):
        machines = columns({"a": payload(SMALL, LARGE, policy="none")}, CAPACITY)
        row = container("c", cpu=9000)
        rows = [shape(row), shape(row, annotations={HINT: "single-numa-node"})]
        answer = NumaFit(podHints=True).assess(machines, batch(rows, machines.resources))
        assert answer.feasible is not None
        assert answer.feasible[:, 0].tolist() == [True, False]

    def test_what_one_shape_was_told_is_not_told_to_another_with_larger_init_containers(self):
        apps = container("c", cpu=4000), container("d", cpu=4000)
        zones = zone(0, {"cpu": 4000}), zone(1, {"cpu": 4000})
        machines = columns({"a": payload(*zones)}, CAPACITY)
        rows = [shape(container("i", "init", cpu=amount), *apps) for amount in (4000, 8000)]
        answer = NumaFit().assess(machines, batch(rows, machines.resources))
        assert answer.feasible is not None
        assert answer.feasible[:, 0].tolist() == [True, False]
