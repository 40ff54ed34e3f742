"""``firmament draw``: draws the flow networks of all base policies."""

from __future__ import annotations

import sys
from pathlib import Path

import click

NOTE = "At lines: cost in points, in brackets the flow. Four machines have one place each: one of five tasks is left."


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def draw(folder: Path) -> None:
    """Draw the flow network that each base policy makes of a small example, as FOLDER/POLICY.svg."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in pictures().items():
            (folder / name).write_text(content, encoding="utf-8")
            click.echo(folder / name)
    except OSError as error:
        click.echo(f"{folder} is not writable: {error.strerror}; name a folder that is", err=True)
        sys.exit(2)


def pictures() -> dict[str, str]:
    """Return SVG drawings of the networks of all base policies, by file name."""
    from cost_models.registry import list_available
    from firmament.configuration.document import BASE_POLICIES
    from firmament.pictures.drawing import draw as drawn
    from firmament.pictures.example import solve_example
    from firmament.solvers.ortools_solver import OrToolsSolver

    done = {}
    for policy in sorted(set(BASE_POLICIES) & set(list_available())):
        done[f"{policy}.svg"] = drawn(*solve_example(policy, OrToolsSolver()), f"The policy {policy}", NOTE)
    return done
