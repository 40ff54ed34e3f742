"""``report``: renders saved results as Markdown, pictures and a web page."""

from __future__ import annotations

from pathlib import Path

import click

RESULTS = Path(__file__).resolve().parents[1] / "results"


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--plots", type=click.Path(file_okay=False, path_type=Path), help="Also draw pictures into this folder."
)
@click.option(
    "--html",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write a web page, in one file.",
)
@click.option("--format", "kind", type=click.Choice(["svg", "png"]), default="svg", show_default=True)
def report(paths: tuple[Path, ...], plots: Path | None, page: Path | None, kind: str) -> None:
    """Render results as Markdown, from files or folders; by default those that come with the harness.

    The status is 1 if some results are of an unknown kind; these are named, and the others rendered.
    """
    from benchmarks.reports.plots import PlottingUnavailableError, draw_all
    from benchmarks.reports.report import ResultError, as_page, load_results, render, unknown

    try:
        results = load_results(paths or [RESULTS])
        click.echo(render(results), nl=False)
        if plots is not None:
            for path in draw_all(results, plots, kind):
                click.echo(f"wrote {path}", err=True)
        if page is not None:
            page.write_text(as_page(results), encoding="utf-8")
            click.echo(f"wrote {page}", err=True)
    except OSError as error:
        raise click.ClickException(f"{error.filename}: cannot be written: {error.strerror}") from None
    except (ResultError, PlottingUnavailableError) as error:
        raise click.ClickException(str(error)) from None
    if left := unknown(results):
        raise click.ClickException("\n".join(left))
