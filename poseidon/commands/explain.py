"""``poseidon explain``: one pod against every node."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from poseidon.commands.offline_options import (
    InputError,
    offline_options,
    read_configuration,
    read_input,
    warn,
)

if TYPE_CHECKING:
    from pathlib import Path


@click.command("explain")
@offline_options
@click.option(
    "--pod", metavar="NAMESPACE/NAME", help="The pod to explain; a bare name is in namespace default."
)
def explain(
    *,
    paths: tuple[str, ...],
    config: Path | None,
    print_config: bool,
    now: float | None,
    output: str,
    pod: str | None,
) -> None:
    """Say, for one pod and every node: feasible or why not, and the cost of each model.

    A pod that runs already is explained as if it looked for another place.
    """
    if print_config:
        click.echo(read_configuration(config).effective_yaml(), nl=False)
        return
    if not pod:
        raise click.UsageError("no pod given; name one with --pod NAMESPACE/NAME")
    given = read_input(paths, config, now)
    from poseidon.offline.explain import UnknownPodError, explain_pod

    try:
        explained = explain_pod(
            given.manifests, given.configuration, given.now, pod if "/" in pod else f"default/{pod}"
        )
    except UnknownPodError as error:
        raise InputError([f"--pod: {error}"]) from None
    warn(explained.warnings)
    if output == "json":
        click.echo(json.dumps(explained.as_json(), indent=2, ensure_ascii=False))
        return
    from poseidon.offline.tables import print_explanation

    print_explanation(explained)
