"""``poseidon reschedule``: moves running pods to nodes where they cost less, or for another objective."""

from __future__ import annotations

import asyncio
import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from poseidon.commands.shared.connection import connect, connection_options, live_faults, serve_metrics
from poseidon.commands.shared.offline_input import Source
from poseidon.commands.shared.options import (
    HostPort,
    config_option,
    hot_option,
    local_data_option,
    move_cost_option,
    output_option,
    override_names,
    scheduler_names_option,
    seconds_option,
)
from poseidon.commands.shared.output_and_exit import print_json, warn
from protos.conventions.number_formats import format_count, format_count_with_verb

if TYPE_CHECKING:
    from poseidon.kube.api.metadata import PodRef
    from poseidon.kube.client.transport import Transport
    from poseidon.rescheduling.mover import CarriedOut
    from poseidon.rescheduling.moves import MoveOutcome
    from poseidon.rescheduling.planning import PlannedMoves


@click.command("reschedule")
@connection_options
@config_option
@scheduler_names_option
@click.option("--dry-run", is_flag=True, help="Print the moves that would be made, and move no pod.")
@click.option(
    "--objective",
    type=click.Choice(("lower-cost", "relieve-load", "free-nodes", "make-room")),
    default="lower-cost",
    help="What the moves are to achieve.",
)
@hot_option
@click.option(
    "--node", "nodes", multiple=True, help="With free-nodes: a node to free. Repeatable; default: any node."
)
@move_cost_option(
    "With lower-cost: the least cost that a move has to save, in points of cost models.", free=False
)
@local_data_option
@click.option("--most-moves", type=click.IntRange(min=1), default=100, help="The most pods that may move.")
@click.option(
    "--at-once",
    type=click.IntRange(min=1),
    default=10,
    help="How many pods move at the same time; the first pod moves alone.",
)
@click.option(
    "--patience",
    callback=seconds_option,
    default="2m",
    metavar="DURATION",
    help="How long a moved pod's replacement may take to get a node; after that, no further pod is moved.",
)
@click.option(
    "--every",
    callback=seconds_option,
    metavar="DURATION",
    help="Repeat the command until it is stopped, this long after each end; default: run once.",
)
@click.option(
    "--metrics",
    type=HostPort(),
    help="With --every: serve Prometheus metrics at this address; off by default.",
)
@output_option
def reschedule(
    *,
    config: Path | None,
    scheduler_names: tuple[str, ...],
    dry_run: bool,
    objective: str,
    hot: tuple[tuple[str, float], ...],
    nodes: tuple[str, ...],
    move_cost: float,
    local_data_may_go: bool,
    most_moves: int,
    at_once: int,
    patience: float,
    every: float | None,
    metrics: tuple[str, int] | None,
    output: str,
) -> None:
    """Move running pods by evicting them, for one of four objectives: see --objective.

    Pods move to nodes where they cost less, off hot nodes, off nodes that can be freed, or off a node that a waiting
    pod needs. Only pods that a controller replaces may move, and only if the pod or its namespace allows moves: the
    namespace with the label firmament.io/reschedule=allow, the pod with an annotation of the same name and value. The
    command respects PodDisruptionBudgets; the bridge keeps the chosen nodes free for the new pods (moves.keepPlaces).
    """
    from poseidon.rescheduling.metrics import MoveMetrics
    from poseidon.rescheduling.objectives import Objective, ObjectiveOptions
    from poseidon.rescheduling.planning import plan_moves
    from protos.conventions.probes import application

    options = ObjectiveOptions(
        Objective(objective),
        move_cost,
        hot,
        nodes,
        most=most_moves,
        local_data_may_go=local_data_may_go,
    )
    counts = MoveMetrics()
    serve_metrics(metrics, application(lambda: counts.registry, {}))
    while True:
        read = Source(config=config).read_live()
        names = override_names(read.configuration, scheduler_names)
        planned = plan_moves(read.manifests, names, read.now, options, at_once)
        warn((*planned.warnings, *planned.notes))
        if output == "table":
            _print_moves(planned)
        done: CarriedOut | None = None
        if not dry_run and (planned.waves.waves or planned.freed or planned.given_back):
            transport = connect()
            with live_faults(transport):
                done = asyncio.run(_carry_out(transport, planned, patience))
        counts.note(planned, done.outcomes if done is not None else ())
        if output == "json":
            print_json(_as_json(planned, done))
        elif done is not None:
            _print_freed_nodes(done)
        if every is None:
            return
        time.sleep(every)


async def _carry_out(transport: Transport, planned: PlannedMoves, patience: float) -> CarriedOut:
    from poseidon.kube.api.event_reasons import EventReason
    from poseidon.kube.environment import Environment
    from poseidon.kube.write.event_writer import EventWriter
    from poseidon.rescheduling.cluster_access import ClusterAccess
    from poseidon.rescheduling.mover import Mover, carry_out

    environment = Environment(transport)
    async with transport:
        events = EventWriter(
            environment,
            partial(asyncio.sleep, 0),  # This command binds nothing, so events need not wait for bindings.
            component="poseidon-reschedule",
            instance=os.uname().nodename,
        )
        writing = asyncio.create_task(events.run())
        try:
            access = ClusterAccess(environment)

            def say(pod: PodRef, text: str) -> None:
                events.say(pod, EventReason.MOVED, text)

            mover = Mover(access, patience, report=_print_outcome, record=say, wall=time.time)
            done = await carry_out(planned, mover, access)
            await events.wait_drained()
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
    return done


def _print_moves(planned: PlannedMoves) -> None:
    from poseidon.explanation_tables import print_rows

    if not planned.released:
        click.echo(
            "no pod may be moved; allow it with the label firmament.io/reschedule=allow on a namespace"
        )
        return
    waves = planned.waves.waves
    rows = [
        (str(number), each.pod, each.source, each.target, each.why)
        for number, wave in enumerate(waves, 1)
        for each in wave
    ]
    click.echo(
        f"{format_count(planned.released, 'pod')} may be moved; {format_count_with_verb(len(rows), 'move')} planned."
    )
    print_rows(("WAVE", "POD", "FROM", "TO", "WHY"), rows)
    print_rows(("NODE TO BE FREED",), [(name,) for name in planned.freed])
    if planned.waves.left:
        click.echo(f"{len(planned.waves.left)} more need places that others of them would leave first.")


def _print_freed_nodes(done: CarriedOut) -> None:
    from poseidon.explanation_tables import print_rows

    print_rows(("FREED NODE",), [(name,) for name in done.freed])
    print_rows(("NODE THAT COULD NOT BE FREED",), [(name,) for name in done.unfreed])


def _print_outcome(outcome: MoveOutcome) -> None:
    move = outcome.move
    because = f": {outcome.reason}" if outcome.reason else ""
    click.echo(f"{outcome.result.value} {move.pod} from {move.source} to {move.target}{because}", err=True)


def _as_json(planned: PlannedMoves, done: CarriedOut | None) -> dict[str, object]:
    """Return the documented JSON object; ``done`` is None if the command has not moved any pod."""
    return {
        "released": planned.released,
        "waves": [[move.as_json() for move in wave] for wave in planned.waves.waves],
        "freed": list(planned.freed if done is None else done.freed),
        "notFreed": [] if done is None else list(done.unfreed),
        "left": [move.as_json() for move in planned.waves.left],
        "outcomes": [] if done is None else [outcome.as_json() for outcome in done.outcomes],
    }
