"""Groups of commands that are imported when they are used."""

from __future__ import annotations

import gc

import click
import pytest

from firmament.cli import main


@pytest.mark.parametrize("collecting", [True, False])
def test_finding_a_command_leaves_the_collection_of_garbage_as_it_was(collecting):
    before = gc.isenabled()
    try:
        (gc.enable if collecting else gc.disable)()
        assert main.get_command(click.Context(main), "get") is not None
        assert gc.isenabled() == collecting
    finally:
        (gc.enable if before else gc.disable)()
