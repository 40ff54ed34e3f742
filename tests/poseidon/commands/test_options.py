"""Values of options: what is accepted, what it means, and what is said of anything else."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from poseidon.commands.shared.options import (
    HostPort,
    Percentage,
    hot_option,
    local_data_option,
    move_cost_option,
    output_option,
    override_names,
    page_option,
    scheduler_names_option,
    seconds_option,
    together,
    wide_output_option,
)
from poseidon.configuration.document import BridgeConfiguration


def parse(*options: Any, arguments: tuple[str, ...] = ()) -> dict[str, Any]:
    """The parameters of a command with these options; what is wrong under ``error``."""
    given: dict[str, Any] = {}

    @together(*options)
    def command(**found: Any) -> None:
        given.update(found)

    result = CliRunner().invoke(click.command()(command), arguments)
    return given if result.exit_code == 0 else {"error": result.stderr.strip().splitlines()[-1]}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9090", ("127.0.0.1", 9090)),
        ("[::1]:65535", ("::1", 65535)),
        ("solver:0", ("solver", 0)),
    ],
)
def test_an_address_has_a_host_and_a_port(text, address):
    option = click.option("--at", type=HostPort())
    assert parse(option, arguments=("--at", text)) == {"at": address}


@pytest.mark.parametrize("text", ["solver", ":9090", "solver:", "solver:x", "solver:65536", "solver:-1", ""])
def test_anything_else_is_no_address(text):
    found = parse(click.option("--at", type=HostPort()), arguments=("--at", text))
    assert f"{text!r} is not HOST:PORT; write for example 127.0.0.1:9090" in found["error"]


@pytest.mark.parametrize(
    ("text", "value"), [("cpu=80", ("cpu", 80.0)), ("memory=0.5", ("memory", 0.5)), ("x=100", ("x", 100.0))]
)
def test_a_percentage_has_a_resource(text, value):
    assert parse(click.option("--hot", type=Percentage()), arguments=("--hot", text)) == {"hot": value}


@pytest.mark.parametrize("text", ["cpu", "=80", "cpu=", "cpu=0", "cpu=100.1", "cpu=-5", "cpu=nan", "cpu=x"])
def test_anything_else_is_no_percentage(text):
    found = parse(click.option("--hot", type=Percentage()), arguments=("--hot", text))
    assert f"{text!r} is not RESOURCE=PERCENT; write for example cpu=80" in found["error"]


def test_durations_are_seconds_and_optional():
    option = click.option("--for", "period", callback=seconds_option)
    assert parse(option) == {"period": None}
    assert parse(option, arguments=("--for", "10m")) == {"period": 600.0}
    assert parse(option, arguments=("--for", "250ms")) == {"period": 0.25}
    assert "--for" in parse(option, arguments=("--for", "soon"))["error"]


def test_defaults_of_the_options_that_commands_share():
    options = (
        output_option,
        hot_option,
        local_data_option,
        move_cost_option("what"),
        page_option("page"),
        scheduler_names_option,
    )
    assert parse(*options) == {
        "output": "table",
        "hot": (("cpu", 80.0), ("memory", 90.0)),
        "local_data_may_go": False,
        "move_cost": 20.0,
        "page_file": None,
        "scheduler_names": (),
    }
    assert parse(wide_output_option) == {"output": "table"}
    assert parse(wide_output_option, arguments=("-o", "wide")) == {"output": "wide"}
    assert "wide" in parse(output_option, arguments=("-o", "wide"))["error"]


@pytest.mark.parametrize(("free", "accepted"), [(True, True), (False, False)])
def test_a_move_costs_nothing_only_where_it_may(free, accepted):
    found = parse(move_cost_option("what", free=free), arguments=("--move-cost", "0"))
    assert ("error" not in found) is accepted
    assert "error" not in parse(move_cost_option("what", free=free), arguments=("--move-cost", "0.1"))
    assert "error" in parse(move_cost_option("what", free=free), arguments=("--move-cost", "-1"))


def test_options_come_in_the_order_in_which_they_are_given():
    @together(click.option("--first"), click.option("--second"))
    def command(**_: Any) -> None:
        """Do nothing."""

    assert [each.name for each in click.command()(command).params] == ["first", "second"]


def test_names_of_the_option_take_the_place_of_the_configurations():
    configuration = BridgeConfiguration()
    assert override_names(configuration, ()) is configuration
    assert override_names(configuration, ("mine",)).scheduler_names == ("mine",)
