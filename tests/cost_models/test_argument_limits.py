"""Between which limits arguments of models are accepted, and what is left of arguments that a model does not know."""

from __future__ import annotations

from typing import Any

import pytest

from cost_models.interface import ModelArgumentError, ShapeRow
from cost_models.prices.machine_price import MOST, MachinePrice
from cost_models.registry import list_available, load_model
from tests.cost_models.columns import machine_columns, shape_batch

POINTS = "shape"


def refused(name: str, argument: str, value: Any, **others: Any) -> bool:
    """Whether a model refuses a value of an argument; it then names the argument."""
    try:
        load_model(name, {argument: value, **others})
    except ModelArgumentError as fault:
        said = str(fault)
    else:
        return False
    assert argument in said
    return True


@pytest.mark.parametrize("name", sorted(list_available()))
def test_every_model_refuses_an_argument_that_it_does_not_know(name: str):
    with pytest.raises(ModelArgumentError, match="noSuchArgument"):
        load_model(name, {"noSuchArgument": 1})


@pytest.mark.parametrize(
    ("name", "argument", "accepted", "beyond", "others"),
    [
        ("quincy", "torTransferCost", [0, 2.0], [-0.1, 1e6 + 1], {}),
        ("quincy", "coreTransferCost", [1.0, 1e6], [0.9, 1e6 + 1], {}),
        ("quincy", "preferredMachineDataFraction", [0, 1.0], [-0.1, 1.1], {}),
        ("quincy", "preferredRackDataFraction", [0, 1.0], [-0.1, 1.1], {}),
        ("cpu_mem", "expirationSeconds", [1, 1e9], [0.9, 0], {}),
        ("machine_price", "highest", [0.1, 1e9], [0, -1], {}),
        ("machine_price", "unknown", [0, 7.5], [-0.1], {}),
        ("machine_price", "prices", [{"a": 0}, {"a": 1.5}], [{"a": -0.1}, {"a": "much"}, {"a": True}], {}),
        ("machine_price", "onlyEmpty", [True, False], [1, "yes"], {}),
        ("load_threshold", "nodeMetricExpirationSeconds", [1, 10**6], [0, -1], {}),
        ("load_threshold", "dominantResourceWeight", [0, 100], [-1, 101], {}),
        ("load_threshold", "estimatedSecondsAfterPodScheduled", [-(10**9), 0, 10**6], [-(10**9) - 1], {}),
        ("load_threshold", "estimatedSecondsAfterInitialized", [-(10**9), 0, 10**6], [-(10**9) - 1], {}),
    ],
)
def test_limits(name: str, argument: str, accepted: list[Any], beyond: list[Any], others: dict[str, Any]):
    assert [refused(name, argument, value, **others) for value in accepted] == [False] * len(accepted)
    assert [refused(name, argument, value, **others) for value in beyond] == [True] * len(beyond)


def point(utilization: Any, score: Any) -> list[dict[str, Any]]:
    """The points of a function that ends at 100 %."""
    return [{"utilization": utilization, "score": score}, {"utilization": 100, "score": 10}]


@pytest.mark.parametrize(
    ("utilization", "score", "sound"),
    [
        (0, 0, True),
        (99, 10, True),
        (0, 11, False),
        (0, -1, False),
        (-1, 0, False),
        (100, 10, False),
        (101, 0, False),
        (0, 0.5, False),
    ],
)
def test_points_of_the_requested_share(utilization: Any, score: Any, sound: bool):
    assert refused("requested_to_capacity_ratio", POINTS, point(utilization, score)) is not sound


def test_a_point_that_leaves_out_a_number_has_0():
    assert not refused("requested_to_capacity_ratio", POINTS, [{}, {"utilization": 50, "score": 10}])
    assert refused("requested_to_capacity_ratio", POINTS, [{}, {"score": 10}]), "two points at 0 %"


class TestPrices:
    def price(self, labels: dict[str, str], **args: Any) -> float:
        model = MachinePrice(**args)
        answer = model.assess(machine_columns({"m": labels}), shape_batch(ShapeRow()))
        return float(answer.raw[0, 0])

    @pytest.mark.parametrize(
        ("label", "price"),
        [
            ("0", 0.0),
            ("2.5", 2.5),
            ("-0.1", 9.0),
            ("nan", 9.0),
            ("inf", 9.0),
            ("cheap", 9.0),
            ("1e30", MOST * 4.0),
        ],
    )
    def test_a_label_that_is_no_price_counts_as_unknown(self, label: str, price: float):
        assert self.price({"price": label}, label="price", unknown=9.0, highest=4.0) == price

    def test_prices_by_value_go_before_the_number_in_the_label(self):
        given = {"label": "price", "unknown": 9.0, "prices": {"2": 5.0, "gold": 7}}
        assert [self.price({"price": each}, **given) for each in ("2", "3", "gold", "tin")] == [
            5.0,
            3.0,
            7.0,
            9.0,
        ]
        assert self.price({}, **given) == 9.0

    def test_the_highest_price_is_the_worst_unless_told(self):
        assert MachinePrice(prices={"a": 3, "b": 8}).range.worst == 8.0
        assert MachinePrice(prices={"a": 3, "b": 8}, highest=20).range.worst == 20.0
        made = MachinePrice(highest=20).range
        assert (made.best, made.bounded) == (0.0, False)
