"""``job-admission``: lets Kueue and this project admit suspended Jobs in queues, on a real API server."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress


@click.command("job-admission")
@click.argument("generator", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--crds",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the definitions of Kueue's objects (config/components/crd/bases).",
)
@click.option(
    "--kueue",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Kueue's manager (cmd/kueue). Without, only this project is measured.",
)
@click.option("--no-poseidon", is_flag=True, help="Only Kueue is measured.")
@click.option(
    "--requests",
    "per_second",
    type=click.FloatRange(1.0),
    help="Requests a second that Kueue may send; by default without limit.",
)
@click.option("--timeout", default=600.0, type=click.FloatRange(1.0), help="Seconds until a run is given up.")
@OUTPUT
@SAVE
def job_admission(
    *,
    generator: Path,
    crds: Path,
    kueue: Path | None,
    no_poseidon: bool,
    per_second: float | None,
    timeout: float,
    output: str,
    save: Path | None,
) -> None:
    """Admit the workloads of GENERATOR, of Kueue's performance tests, as suspended Jobs, on a real API server.

    Nobody creates pods: a Job ends its run time after it was resumed. KUBERNETES_BINARIES names the folder of etcd and
    kube-apiserver.
    """
    from benchmarks.job_admission.measure import AdmissionOptions, measure_admission
    from benchmarks.job_admission.schedulers import KUEUE, OURS
    from benchmarks.judge.control_plane import VARIABLE, ControlPlaneError, binaries
    from poseidon.kube.client.errors import KubeError
    from poseidon.testbed.harness.child import ChildDiedError

    where = binaries()
    if where is None:
        raise click.ClickException(f"{VARIABLE} is not set; it names the folder of etcd and kube-apiserver")
    schedulers = (*((KUEUE,) if kueue else ()), *(() if no_poseidon else (OURS,)))
    if not schedulers:
        raise click.ClickException(
            "nobody admits: name Kueue's manager with --kueue, or leave out --no-poseidon"
        )
    options = AdmissionOptions(generator, crds, where, kueue, schedulers, per_second, timeout=timeout)
    try:
        report = measure_admission(options, progress())
    except (ControlPlaneError, ChildDiedError, KubeError, TimeoutError) as error:
        raise click.ClickException(str(error) or "no answer in time") from None
    emit(report, output, save)
