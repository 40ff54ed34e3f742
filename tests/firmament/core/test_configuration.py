"""What a configuration says if nothing is stated, and what follows from its models."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from cost_models.interface import Needs, Promises
from cost_models.registry import load_model
from firmament.core.configuration import (
    CoreConfiguration,
    FairShare,
    RoundOptions,
    SizeLimits,
    WeightedModel,
)
from firmament.core.model import (
    HostPort,
    Job,
    JobGroup,
    Machine,
    SpreadRule,
    TaskClass,
    TaskSelector,
    TaskTerm,
    Toleration,
)
from firmament.core.placement.outcome import PassOptions
from tests.support.models import Stated, indifferent


def test_options_of_rounds():
    options = RoundOptions()
    assert options.passes == PassOptions(max_passes=8, max_waves=12, solve_time_limit=10.0)
    assert (options.seed, options.by_quality, options.preemption) == (0, False, True)
    assert (options.reserve_after_rounds, options.reserve_for_rounds) == (8, 256)
    assert (options.reserve_after, options.reserve_for) == (60.0, 300.0)
    assert (options.first_backoff, options.last_backoff) == (1.0, 60.0)
    assert (options.namespace_checks, options.class_checks) == (6_000_000, 10_000)
    assert (options.gang_seconds, options.refresh_seconds) == (600.0, math.inf)
    assert (options.evict_failed_gangs, options.tells_why) == (True, True)


def test_limits_of_size():
    limits = SizeLimits()
    assert (limits.tasks, limits.machines, limits.classes) == (2_000_000, 200_000, 500_000)
    assert (limits.records, limits.record_bytes) == (500_000, 1_048_576)


def test_weights_of_namespaces():
    shares = FairShare({"a": 3.0})
    assert (shares.weight("a"), shares.weight("b")) == (3.0, 1.0)
    assert FairShare({"a": 3.0}, 0.5).weight("b") == 0.5
    assert FairShare().weights == {}


def told(name: str, **promises: Any) -> WeightedModel:
    return WeightedModel(
        Stated(indifferent, name=name, needs=Needs(labels=(name,)), promises=Promises(**promises))
    )


def test_without_anything_stated_the_policy_is_cpu_mem():
    made = CoreConfiguration()
    assert (made.policy.model.name, made.policy.weight) == ("cpu_mem", 1)
    assert made.models == (made.policy,)
    assert (made.overlays, made.fair_share, made.scarce, made.spread, made.profiles) == (
        (),
        None,
        None,
        (),
        {},
    )
    assert (made.pair_models, made.constraining_models, made.group_model) == ((), (), None)
    assert made.limits == SizeLimits()
    assert made.options == RoundOptions()
    assert made.rules.needs == replace(made).rules.needs


def test_models_come_in_order_and_by_what_they_promise():
    plain, pairs, more = told("plain"), told("pairs", pairs=True), told("more", pairs=True)
    groups, others = told("groups", groups=True), told("others", groups=True)
    tied, scarce = told("tied", constraints=True), told("scarce")
    made = CoreConfiguration(plain, (pairs, groups, tied, others, more), scarce=scarce)
    assert made.models == (plain, pairs, groups, tied, others, more, scarce)
    assert made.pair_models == ((pairs, pairs.model), (more, more.model))
    assert made.group_model is groups.model
    assert made.constraining_models == (tied.model,)
    assert {"plain", "pairs", "groups", "tied", "others", "more", "scarce"} <= {*made.needs.labels}


def test_profiles_add_to_what_drivers_must_report():
    own = CoreConfiguration(told("own"))
    made = CoreConfiguration(told("base"), profiles={"p": own, "o": own})
    assert "own" not in made.needs.labels
    assert {"own", "base"} <= {*made.all_needs.labels}
    assert CoreConfiguration(told("base")).all_needs.labels == CoreConfiguration(told("base")).needs.labels
    assert {"labels:own", "labels:base", "profiles:o", "profiles:p"} <= {*made.words}
    assert made.words == sorted(made.words)
    assert "namespaces" not in CoreConfiguration(told("base")).words
    assert "namespaces" in CoreConfiguration(told("base"), fair_share=FairShare()).words
    assert load_model("cpu_mem", {}).name == "cpu_mem"


# --- objects of which little is stated --------------------------------------------------------------------------------


@pytest.mark.parametrize(("least", "is_gang"), [(0, False), (1, False), (2, True), (9, True)])
def test_two_tasks_are_a_gang(least: int, is_gang: bool):
    assert Job("j", min_members=least).is_gang is is_gang


def test_a_job_may_ask_for_room():
    assert not Job("j").asks_for_room
    assert Job("j", least_room=(("cpu", 0),)).asks_for_room


def test_what_objects_say_if_nothing_is_stated():
    assert Job("j") == Job("j", "", 0, 0, "", 0.0, False, False, (), ())
    assert JobGroup("g") == JobGroup("g", "", 0, (), (), False, False, 0, False, ())
    assert Toleration() == Toleration("", "Equal", "", "")
    assert HostPort(1) == HostPort(1, "TCP", "")
    assert TaskSelector() == TaskSelector((), False, (), None)
    assert TaskTerm("k", TaskSelector()).weight == 0
    rule = SpreadRule("k", TaskSelector(), 1, required=True)
    assert (rule.min_domains, rule.ignore_node_affinity, rule.honor_taints) == (0, False, False)
    machine = Machine("m", {})
    assert (machine.unschedulable, machine.not_ready, machine.taints) == (False, False, ())
    content = TaskClass()
    assert not any(
        (
            content.never_preempts,
            content.terminating,
            content.invalid,
            content.queue,
            content.group,
            content.profile,
        )
    )
