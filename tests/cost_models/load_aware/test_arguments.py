"""LoadAwareSchedulingArgs: defaults, and one clear line for every mistake."""

from __future__ import annotations

import pytest

from cost_models.conformance import check_model
from cost_models.interface import ModelArgumentError
from cost_models.load_aware.arguments import Aggregation, read_settings
from cost_models.registry import load_model


def test_defaults():
    found = read_settings({})
    assert (found.thresholds, found.factors) == ({"cpu": 65, "memory": 95}, {"cpu": 85, "memory": 70})
    assert (found.weights, found.dominant_weight) == ({"cpu": 1, "memory": 1}, 0)
    assert (found.expiration, found.filter_expired, found.pass_expired) == (180, True, False)
    assert (found.rounding, found.missing, found.hot) == ("exact", "upstream", "reject")
    assert found.known == ("cpu", "memory")


def test_empty_maps_take_defaults_and_factors_are_completed():
    found = read_settings(
        {"usageThresholds": {}, "resourceWeights": {}, "estimatedScalingFactors": {"cpu": 50, "x.io/y": 9}}
    )
    assert found.thresholds == {"cpu": 65, "memory": 95}
    assert found.factors == {"cpu": 50, "memory": 70, "x.io/y": 9}
    assert found.known == ("cpu", "memory", "x.io/y")
    assert read_settings({"dominantResourceWeight": 3}).weights == {}
    assert read_settings({"supportedResources": ["a.io/b"]}).known == ("a.io/b", "cpu", "memory")


def test_aggregation_is_on_with_thresholds_and_a_type_only():
    thresholds = {"usageThresholds": {"cpu": 60}}
    assert read_settings({"aggregated": thresholds}).aggregated_thresholds == {}
    found = read_settings(
        {"aggregated": {**thresholds, "usageAggregationType": "p95", "usageAggregatedDuration": "5m"}}
    )
    assert (found.aggregated_thresholds, found.filter_aggregation) == ({"cpu": 60}, Aggregation("p95", 300.0))
    scored = read_settings({"aggregated": {"scoreAggregationType": "avg", "scoreAggregatedDuration": 90}})
    assert scored.score_aggregation == Aggregation("avg", 90.0)


def test_seconds_that_are_not_above_zero_are_off():
    assert read_settings({"estimatedSecondsAfterPodScheduled": -5}).after_scheduled == 0
    assert read_settings({"estimatedSecondsAfterInitialized": 5}).after_initialized == 5


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (
            {"usageThresholds": {"cpu": 101}},
            "usageThresholds.cpu is 101; it must be a whole number from 0 to 100",
        ),
        ({"usageThresholds": {"cpu": "65"}}, "usageThresholds.cpu is '65'; it must be a whole number"),
        ({"usageThresholds": 65}, "usageThresholds is 65; it must be a map"),
        (
            {"estimatedScalingFactors": {"cpu": 0}},
            "estimatedScalingFactors.cpu is 0; it must be a whole number",
        ),
        ({"resourceWeights": {"x": 1}}, "resourceWeights.x is 1; it must be for a resource in"),
        ({"nodeMetricExpirationSeconds": 0}, "nodeMetricExpirationSeconds is 0; it must be a number, 1"),
        (
            {"nodeMetricExpirationSeconds": 1.5},
            "nodeMetricExpirationSeconds is 1.5; it must be a whole number",
        ),
        ({"dominantResourceWeight": 101}, "dominantResourceWeight is 101"),
        ({"filterExpiredNodeMetrics": "no"}, "filterExpiredNodeMetrics is 'no'; it must be true or false"),
        (
            {"aggregated": {"usageAggregationType": "p42"}},
            "aggregated: usageAggregationType is 'p42'; it must",
        ),
        (
            {"aggregated": {"usageAggregatedDuration": "5"}},
            "usageAggregatedDuration is '5'; it must be a duration",
        ),
        ({"aggregated": {"thresholds": {}}}, "aggregated: unknown argument 'thresholds'"),
        ({"thresholdRounding": "up"}, "thresholdRounding is 'up'; it must be one of exact, upstream"),
        ({"missingMetrics": "pass"}, "missingMetrics is 'pass'; it must be one of upstream, failOpen"),
        ({"whenAllHot": 1}, "whenAllHot is 1; it must be one of reject, leastLoaded"),
        (
            {"scoringStrategy": {"type": "Best"}},
            "scoringStrategy: type is 'Best'; it must be one of LeastUsed",
        ),
        (
            {"scoringStrategy": {"targetUtilization": 40}},
            "scoringStrategy: unknown argument 'targetUtilization'",
        ),
        (
            {"scoringStrategy": {"type": "TargetLoadPacking", "defaultRequestsMultiplier": "0.5"}},
            "defaultRequestsMultiplier is '0.5'; it must be a number from 1",
        ),
        (
            {"scoringStrategy": {"type": "TargetLoadPacking", "defaultRequests": {"memory": 1}}},
            "defaultRequests is {'memory': 1}; it must be a quantity of cpu alone",
        ),
        ({"usageTresholds": {}}, "unknown argument 'usageTresholds'; known: "),
    ],
)
def test_mistakes(args: dict[str, object], line: str):
    with pytest.raises(ModelArgumentError) as caught:
        load_model("load_threshold", args)
    message = str(caught.value)
    assert message.startswith("load_threshold: ")
    assert line in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"scoringStrategy": {"type": "MostUsed"}},
        {"scoringStrategy": {"type": "TargetLoadPacking", "defaultRequests": {"cpu": "500m"}}},
        {"scoringStrategy": {"type": "LoadVariationRiskBalancing", "safeVarianceSensitivity": 0}},
        {"missingMetrics": "estimate", "dominantResourceWeight": 2, "prodUsageThresholds": {"cpu": 50}},
        {"missingMetrics": "failClosed", "whenAllHot": "leastLoaded", "prodUsageIncludeSys": True},
        {
            "aggregated": {"usageThresholds": {"cpu": 5}, "usageAggregationType": "p95"},
            "thresholdRounding": "upstream",
            "scoreAccordingProdUsage": True,
            "allowCustomizeEstimation": True,
        },
    ],
)
def test_every_way_to_configure_it_keeps_the_rules_for_models(args: dict[str, object]):
    check_model(load_model("load_threshold", args))
