"""Runs the simulations of a sweep in parallel, on the cores of this machine or on a Dask cluster.

Each row of results is saved in a file of its own as soon as its run has ended. A killed process therefore loses no
finished run. The run of a worker that died is run again, and a sweep that is started again continues.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, TypeAlias

from poseidon.simulate.report import SimulationReport, make_report
from poseidon.simulate.setup import SimulationError, set_up
from poseidon.simulate.sweep.grid import SweepPlan, SweepRun

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = Iterator[Row]
ATTEMPTS = 3
"""How often a run is started if its worker dies each time; after that, it counts as failed."""


class WorkersLostError(RuntimeError):
    """Raised if workers died repeatedly; the text says for how many runs."""


def run_one(run: SweepRun, folder: Path) -> Row:
    """Run one simulation; return its settings and figures, or ``fault`` with the reason why there are no figures."""
    row: Row = {"run": run.number, **{name: _plain(value) for name, value in run.settings.items()}}
    try:
        simulation = set_up(run.scenario, folder)
        simulation.run()
    except SimulationError as error:
        return row | {"fault": str(error)}
    return row | list_figures(make_report(simulation)) | {"fault": ""}


def list_figures(report: SimulationReport) -> Row:
    """Return the figures of a report by name; waiting times are those of all tasks and of each kind."""
    row: Row = {
        "nodes": report.nodes,
        "empty": report.empty,
        "fragmentation": report.fragmentation,
        "makespan": report.makespan,
        "evictions": report.preempted + report.displaced,
        "preempted": report.preempted,
        "rounds": report.rounds,
        "cost": report.cost,
        "seconds": report.seconds["processor"],
    }
    row |= {f"used {name}": part for name, part in report.utilisation.items()}
    for each in report.waits:
        of = "" if each.kind == "all" else f" {each.kind}"
        row |= {f"waiting{of}": each.waiting, f"waitP50{of}": each.p50, f"waitP90{of}": each.p90}
        row |= {f"waitLongest{of}": each.longest}
    return row


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool, type(None))) else json.dumps(value)


class EndedRuns:
    """Rows of finished runs, with a file for each run; rows of other settings are ignored."""

    def __init__(self, folder: Path, plan: SweepPlan) -> None:
        self._folder, self._plan = folder, plan

    def read(self) -> dict[int, Row]:
        """Return the saved rows, by run. Raises ``OSError`` if a file cannot be read."""
        found = {}
        for run in self._plan.runs:
            path = self._path(run)
            if path.exists():
                found[run.number] = json.loads(path.read_text())
        return found

    def keep(self, row: Row) -> None:
        """Save the row of a finished run, completely or not at all.

        Raises ``OSError`` if the file cannot be written.
        """
        path = self._path(self._plan.runs[row["run"]])
        self._folder.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".part")
        beside.write_text(json.dumps(row))
        beside.replace(path)

    def remove(self) -> None:
        """Remove the files of all finished runs. Raises ``OSError`` if a file cannot be removed."""
        for run in self._plan.runs:
            self._path(run).unlink(missing_ok=True)
        if self._folder.exists() and not any(self._folder.iterdir()):
            self._folder.rmdir()

    def _path(self, run: SweepRun) -> Path:
        text = run.scenario.model_dump_json()
        return self._folder / f"{run.number}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def run_sweep(
    plan: SweepPlan,
    kept: EndedRuns,
    run_some: Callable[[Sequence[SweepRun], Path], Rows],
    note: Callable[[int], object] = lambda _: None,
) -> list[Row]:
    """Return the rows of all runs, in order; ``note`` gets the number of finished runs.

    ``run_some`` runs the runs that are not finished; ``on_cores`` and ``on_dask`` return functions that do this.
    Raises ``WorkersLostError`` and ``OSError``.
    """
    rows = kept.read()
    note(len(rows))
    for _ in range(ATTEMPTS):
        missing = [run for run in plan.runs if run.number not in rows]
        if not missing:
            break
        for row in _iter_until_lost(run_some(missing, plan.folder)):
            kept.keep(row)
            rows[row["run"]] = row
            note(len(rows))
    lost = len(plan.runs) - len(rows)
    if lost:
        raise WorkersLostError(
            f"workers died {ATTEMPTS} times, {lost} runs are missing; give them more memory, or use fewer at a time"
        )
    return [rows[run.number] for run in plan.runs]


def _iter_until_lost(rows: Rows) -> Rows:
    """Yield rows until all runs have one, or until a worker dies."""
    try:
        yield from rows
    except BrokenProcessPool:  # joblib's error is derived from BrokenProcessPool
        return


def on_cores(jobs: int) -> Callable[[Sequence[SweepRun], Path], Rows]:
    """Return a function that runs ``jobs`` simulations at the same time, in processes of this machine.

    Running in processes needs the extra ``simulate``.
    """
    from joblib import Parallel, delayed  # type: ignore[import-untyped]  # it has no types; only sweeps want it

    def run_each(runs: Sequence[SweepRun], folder: Path) -> Rows:
        work = (delayed(run_one)(run, folder) for run in runs)
        found: Iterable[Row] = Parallel(n_jobs=jobs, return_as="generator_unordered")(work)
        yield from found

    return run_each


def on_dask(address: str) -> Callable[[Sequence[SweepRun], Path], Rows]:
    """Return a function that runs simulations on the workers of a Dask cluster.

    Running on Dask needs the extra ``dask``.

    If a worker dies, Dask itself repeats its runs on other workers.
    """
    from distributed import Client, as_completed  # This import takes long, and only sweeps need it.
    from distributed.scheduler import KilledWorker

    def run_each(runs: Sequence[SweepRun], folder: Path) -> Rows:
        with Client(address) as client:  # type: ignore[no-untyped-call]  # partly typed
            futures = [client.submit(run_one, run, folder, pure=False) for run in runs]
            for future in as_completed(futures):  # type: ignore[no-untyped-call]  # as above
                try:
                    yield future.result()
                except KilledWorker:
                    continue

    return run_each


def find_best(rows: Iterable[Mapping[str, Any]], minimise: Sequence[str]) -> list[int]:
    """Return the Pareto-optimal runs: no other run is at least as good in all figures, and better in one.

    Failed runs are left out.

    A missing figure counts as worse than any known one.
    """
    points = [
        (row["run"], tuple(_worth(row.get(name)) for name in minimise)) for row in rows if not row["fault"]
    ]
    return [
        run
        for run, mine in points
        if not any(
            other != mine and all(theirs <= own for theirs, own in zip(other, mine, strict=True))
            for _, other in points
        )
    ]


def _worth(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else float("inf")
