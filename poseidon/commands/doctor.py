"""``poseidon doctor``: whether everything is in place for a bridge."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from poseidon.commands.connection import connect, connection_options, solver_options
from poseidon.commands.run import bridge_options, observer_of
from protos.conventions.tls import chosen_tls, tls_options

if TYPE_CHECKING:
    from poseidon.bridge.options import BridgeOptions
    from poseidon.doctor.findings import Finding
    from poseidon.kube.client.transport import Transport


@click.command("doctor")
@connection_options
@solver_options
@click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE", help="Scheduler configuration (YAML)."
)
@click.option(
    "--leader-elect/--no-leader-elect", default=None, help="As of `poseidon run`: whether a Lease is needed."
)
@tls_options
@click.option("-o", "--output", type=click.Choice(("table", "json")), default="table", show_default=True)
def doctor(
    *,
    kubeconfig: Path | None,
    context: str | None,
    firmament: tuple[tuple[str, int], ...],
    config: Path | None,
    cluster_name: str,
    leader_elect: bool | None,
    output: str,
) -> None:
    """Look whether a bridge would find what it needs, and change nothing. Exit status 1 if something is wrong."""
    from poseidon.doctor.findings import Finding, Verdict

    transport = connect(kubeconfig, context)
    try:
        options = bridge_options(config, leader_elect, firmament, cluster_name, tls=chosen_tls())
    except ValueError as error:
        findings = [Finding("configuration", Verdict.WRONG, str(error))]
    else:
        findings = [Finding("configuration", Verdict.OK, str(config or "defaults"))]
        findings += asyncio.run(_examine(transport, options, cluster_name))
    sound = all(each.verdict is not Verdict.WRONG for each in findings)
    click.echo(_as_json(findings, sound=sound) if output == "json" else _as_table(findings))
    raise SystemExit(0 if sound else 1)


async def _examine(transport: Transport, options: BridgeOptions, cluster: str) -> list[Finding]:
    async with transport:
        return await examined(transport, options, cluster)


async def examined(transport: Transport, options: BridgeOptions, cluster: str) -> list[Finding]:
    """Return what is found about the API server of ``transport`` and the solvers of ``options``."""
    from poseidon.doctor.checks import examine
    from poseidon.leadership.elector import own_namespace

    observer = observer_of(cluster, "doctor")
    return [each async for each in examine(transport, options, observer, own_namespace())]


def _as_table(findings: list[Finding]) -> str:
    width = max(len(each.check) for each in findings)
    return "\n".join(f"{each.verdict.value:<8} {each.check:<{width}}  {each.message}" for each in findings)


def _as_json(findings: list[Finding], *, sound: bool) -> str:
    checks = [
        {"check": each.check, "verdict": each.verdict.value, "message": each.message} for each in findings
    ]
    return json.dumps({"ok": sound, "checks": checks}, indent=2, ensure_ascii=False)
