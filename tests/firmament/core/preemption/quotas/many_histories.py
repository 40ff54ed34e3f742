"""Play mixed histories for as long as it takes: so many steps from a seed on, and go on where it was stopped.

    .venv/bin/python -m tests.firmament.core.preemption.quotas.many_histories --steps 100000 --state steps.json

It exits with 1, and names the seed, if evictions after a step do not end, a machine is overcommitted, or a gang runs in
part. The state is written after every twenty histories.
"""

from __future__ import annotations

import gc
import json
import time
from pathlib import Path

import click

from tests.firmament.core.preemption.quotas.mixed_histories import run

STEPS = 40
"""Steps of each history."""
SAVE_EVERY = 20


@click.command()
@click.option("--first", default=1_000_000, show_default=True, help="seed of the first history")
@click.option("--steps", default=100_000, show_default=True, help="steps of all histories together")
@click.option(
    "--state", type=click.Path(path_type=Path), help="file to save what is done in, and to go on from"
)
def main(first: int, steps: int, state: Path | None) -> None:
    """Play histories until they have so many steps."""
    done = {"next": first, "steps": 0, "rounds": 0, "evictions": 0, "longest": 0, "seconds": 0.0}
    if state and state.exists():
        done |= json.loads(state.read_text())
    gc.freeze()
    while done["steps"] < steps:
        began, seed = time.process_time(), int(done["next"])
        try:
            figures = run(seed, STEPS)
        except Exception as error:
            raise click.ClickException(
                f"seed {seed}: {error!r}; repeat it with run({seed}, {STEPS})"
            ) from error
        done["next"] += 1
        done["steps"] += figures.steps
        done["rounds"] += figures.rounds
        done["evictions"] += figures.evictions
        done["longest"] = max(done["longest"], figures.longest)
        done["seconds"] += time.process_time() - began
        if state and seed % SAVE_EVERY == 0:
            state.write_text(json.dumps(done))
    if state:
        state.write_text(json.dumps(done))
    click.echo(json.dumps(done))


if __name__ == "__main__":
    main()
