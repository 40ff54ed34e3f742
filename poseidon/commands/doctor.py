"""``poseidon doctor``: checks that a bridge would find everything it needs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from poseidon.commands.run import bridge_options, name_observer
from poseidon.commands.shared.connection import (
    connect,
    connection_options,
    get_chosen_solvers,
    solver_options,
)
from poseidon.commands.shared.options import config_option, output_option
from poseidon.commands.shared.output_and_exit import print_json
from protos.conventions.tls import tls_options

if TYPE_CHECKING:
    from poseidon.bridge.options import BridgeOptions
    from poseidon.doctor.findings import Finding
    from poseidon.kube.client.transport import Transport


@click.command("doctor")
@connection_options
@solver_options
@config_option
@click.option(
    "--leader-elect/--no-leader-elect",
    default=None,
    help="Check the bridge's rights to a Lease, as `poseidon run` needs them with this option.",
)
@tls_options
@output_option
def doctor(*, config: Path | None, leader_elect: bool | None, output: str) -> None:
    """Check that a bridge would find what it needs: rights, API groups, a solver; change nothing.

    The exit status is 1 if something is wrong.
    """
    from poseidon.doctor.findings import Finding, Verdict

    transport = connect()
    try:
        options = bridge_options(config, leader_elect)
    except ValueError as error:
        findings = [Finding("configuration", Verdict.WRONG, str(error))]
    else:
        findings = [Finding("configuration", Verdict.OK, str(config or "defaults"))]

        async def run_checks() -> list[Finding]:
            async with transport:
                return await examine(transport, options)

        findings += asyncio.run(run_checks())
    sound = all(each.verdict is not Verdict.WRONG for each in findings)
    if output == "json":
        print_json({"ok": sound, "checks": [each.as_json() for each in findings]})
    else:
        width = max(len(each.check) for each in findings)
        for each in findings:
            click.echo(f"{each.verdict.value:<8} {each.check:<{width}}  {each.message}")
    raise SystemExit(0 if sound else 1)


async def examine(transport: Transport, options: BridgeOptions) -> list[Finding]:
    """Return the findings about the API server behind ``transport`` and about the solvers that ``options`` name."""
    from poseidon.doctor.connection_checks import examine
    from poseidon.leadership.elector import own_namespace

    observer = name_observer(get_chosen_solvers().cluster, "doctor")
    return [each async for each in examine(transport, options, observer, own_namespace())]
