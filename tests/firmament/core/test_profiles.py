"""What rounds of each profile keep: stores of their own, and tasks divided by the profile that they name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import ClassDefined, TasksSubmitted
from firmament.core.few_tasks.first_costs import FirstCosts
from firmament.core.flow.heights_and_prices import DualPrices
from firmament.core.intake.events import apply_events
from firmament.core.profiles import Profiles
from firmament.core.queue.profile_turns import BASE
from firmament.core.scoring.kept_rows import Charges, Generation, KeptRows
from firmament.core.state.cluster import Cluster
from tests.support.core import scheduler, task_class

CONTEXT = scheduler()._profile.context


@pytest.fixture
def profiles() -> Profiles:
    """The profiles b and a besides that of all others."""
    of_models = {
        name: CoreConfiguration(policy=WeightedModel(load_model(policy, {})))
        for name, policy in (("b", "octopus"), ("a", "trivial"))
    }
    base = replace(CONTEXT.configuration, profiles=of_models)
    return Profiles(replace(CONTEXT, configuration=base), KeptRows(least_machines=7), FirstCosts(9))


def cluster() -> Cluster:
    made = Cluster()
    names = ("b", "", "a", "unknown", "b")
    apply_events(
        made,
        [ClassDefined(n, task_class(n + 1, profile=name)) for n, name in enumerate(names)]
        + [TasksSubmitted(n, (f"t{n}",)) for n in range(len(names))],
        0.0,
    )
    return made


def test_a_profile_has_its_own_models_and_stores(profiles: Profiles):
    base, one, other = profiles[BASE], profiles["a"], profiles["b"]
    assert profiles["nobody"] is base
    assert [each.context.configuration.policy.model.name for each in (base, one, other)] == [
        "cpu_mem", "trivial", "octopus",
    ]  # fmt: skip
    for store in ("kept_rows", "first_costs", "prices"):
        assert len({id(getattr(each, store)) for each in (base, one, other)}) == 3
    assert all(each.context.kept_rows is each.kept_rows for each in (base, one, other))
    assert len({id(each.context.trees) for each in (base, one, other)}) == 3
    assert all(each.context.cluster is CONTEXT.cluster for each in (base, one, other))
    assert [each.kept_rows.least_machines for each in (base, one, other)] == [7, 7, 7]
    assert [each.first_costs.least_machines for each in (base, one, other)] == [9, 9, 9]


def test_tasks_are_divided_by_profile_in_the_order_of_names(profiles: Profiles):
    made = cluster()
    rows = [made.tasks.row_of[f"t{n}"] for n in (4, 1, 3, 0, 2)]
    assert [[made.tasks.uid[row] for row in part] for part in profiles.divide(made, rows)] == [
        ["t1", "t3"], ["t2"], ["t4", "t0"],
    ]  # fmt: skip
    assert profiles.divide(made, []) == []
    found = {uid: profiles.find_profile(made, row) for uid, row in made.tasks.row_of.items()}
    assert (found["t0"], found["t2"]) == (profiles["b"], profiles["a"])
    assert found["t1"] is found["t3"] is profiles[BASE]


NAMES = (BASE, "a", "b")


def fill(profiles: Profiles) -> None:
    """Put something into every store: about the shapes 0 and 1."""
    made = cluster()
    for name in NAMES:
        each = profiles[name]
        charges = Charges(np.zeros((2, 3), np.int32), np.zeros(2), np.ones(2, np.bool_))
        each.kept_rows.generations.append(Generation(0, {0: 0, 1: 1}, (), charges))
        each.first_costs.get_domains(made, "zone")
        each.prices.take_over(DualPrices.from_shapes(np.array([0, 1]), np.array([4.0, 6.0])))


def test_resting_frees_the_stores_of_all_profiles_but_not_their_prices(profiles: Profiles):
    fill(profiles)
    profiles.free_memory()
    for name in NAMES:
        assert profiles[name].kept_rows.generations == []
        assert profiles[name].first_costs._domains is None
        assert len(profiles[name].prices) == 2


def test_shapes_move_in_the_stores_of_all_profiles(profiles: Profiles):
    fill(profiles)
    profiles.renumber_shapes(np.array([-1, 5]))
    for name in NAMES:
        (kept,) = profiles[name].kept_rows.generations
        assert kept.row_of == {5: 1}
        assert profiles[name].first_costs._domains is None
        prices = profiles[name].prices.recall([0, 1, 5])
        assert prices is not None
        assert (prices.shape.tolist(), prices.price.tolist()) == ([2], [6.0])
