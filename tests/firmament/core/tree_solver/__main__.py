"""``python -m tests.firmament.core.tree_solver``: the solver of groups on trees against exhaustive search."""

from __future__ import annotations

import sys

import click

from tests.firmament.core.tree_solver.checking import check


@click.command()
@click.option("--cases", default=5000, show_default=True, type=click.IntRange(1), help="How many.")
@click.option("--first", default=0, show_default=True, type=click.IntRange(0), help="Number of the first.")
def main(cases: int, first: int) -> None:
    """Random trees of 2 to 4 levels with random rules: found whenever possible, optimal, no strict rule bent."""
    possible = bad = 0
    for number in range(first, first + cases):
        solvable, wrong = check(number)
        possible += solvable
        if wrong is not None:
            bad += 1
            click.echo(f"case {number}: {wrong}", err=True)
    click.echo(f"{cases} cases, {possible} of them solvable, {bad} answered wrongly")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
