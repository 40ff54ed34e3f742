"""Options of a bridge: the name under which it writes events, and what its log says at the start."""

from __future__ import annotations

import pytest

from poseidon.bridge.options import BridgeOptions, describe
from poseidon.configuration.document import BridgeConfiguration


def make(*names: str, dry_run: bool = False) -> BridgeOptions:
    configuration = BridgeConfiguration(scheduler_names=names) if names else BridgeConfiguration()
    return BridgeOptions(("a:1", "b:2"), configuration, dry_run=dry_run, cluster="c")


@pytest.mark.parametrize(
    ("names", "component"),
    [((), "poseidon"), (("one", "two"), "one"), (("*", "two"), "two"), (("*",), "poseidon")],
)
def test_events_are_written_under_the_first_name(names, component):
    assert make(*names).component == component


@pytest.mark.parametrize("dry_run", [False, True])
def test_what_a_bridge_is_about_to_do(dry_run):
    assert describe(make("one", "two", dry_run=dry_run), "https://s") == {
        "apiserver": "https://s",
        "firmament": "a:1,b:2",
        "cluster": "c",
        "schedulerNames": "one,two",
        "dryRun": "true" if dry_run else "false",
    }


def test_conditions_are_written_sooner_than_other_things():
    options = make()
    assert options.conditions.patience == 1.0
    assert options.conditions.late == 8
    assert options.conditions.patience < options.writes.patience
