"""Both processes send spans: a round with its stages, and the bindings that it decided as its children."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner, Result

from benchmarks.processes.parts.collector import collecting
from firmament.cli import main as firmament
from poseidon.bridge.binding_traces import MOST_OF_A_ROUND
from poseidon.cli import main as poseidon
from poseidon.testbed.kubeconfig import write_kubeconfig
from tests.programs.end_to_end.scene import free_port, names, scene
from tests.support.waiting import until

PODS = 50


def attributes(span):
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


async def test_a_round_its_stages_and_its_bindings_are_one_trace(tmp_path, monkeypatch):
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    async with collecting() as collector, scene(tmp_path) as s:
        flag = (f"--traces={collector.address}",)
        s.stack._options = replace(s.stack._options, more_for_solver=flag, more_for_bridge=flag)
        await s.nodes(5)
        await s.pods(names("p", PODS), cpu="10m")
        await s.start(own_solver=True)
        await s.until_bound(PODS)

        def has_come():
            """Both programs send their spans when they like: rounds may come after their bindings."""
            bindings, rounds = collector.list_named("binding"), collector.list_named("round")
            known = {each.span_id for each in rounds if attributes(each)["firmament.placed"]}
            return len(bindings) >= MOST_OF_A_ROUND and {each.parent_span_id for each in bindings} <= known

        await until(has_come)
        (first, *_) = [each for each in collector.list_named("round") if attributes(each)["firmament.placed"]]
        assert attributes(first)["firmament.cluster"] == tmp_path.name
        stages = [span for _, span in collector.spans if span.parent_span_id == first.span_id]
        assert [each.name for each in stages if each.name != "binding"] == [
            "snapshot",
            "network",
            "solve",
            "admit",
        ]
        for each in stages:
            assert each.trace_id == first.trace_id
            assert each.start_time_unix_nano <= each.end_time_unix_nano
        for each in (each for each in stages if each.name != "binding"):
            assert first.start_time_unix_nano <= each.start_time_unix_nano
            assert each.end_time_unix_nano <= first.end_time_unix_nano
        bound = {attributes(each)["k8s.pod.name"]: each for each in collector.list_named("binding")}
        assert all(attributes(each)["poseidon.result"] == "bound" for each in bound.values())
        placed = s.placed()
        assert all(attributes(each)["k8s.node.name"] == placed[name] for name, each in bound.items())
        rounds = {each.span_id for each in collector.list_named("round")}
        assert {each.parent_span_id for each in bound.values()} <= rounds
        assert {service for service, _ in collector.spans} == {"firmament", "poseidon"}


async def test_a_collector_that_is_not_there_costs_nothing_else(tmp_path):
    async with scene(tmp_path) as s:
        flag = (f"--traces=http://127.0.0.1:{free_port()}",)
        s.stack._options = replace(s.stack._options, more_for_solver=flag, more_for_bridge=flag)
        await s.nodes(2)
        await s.pods(names("p", 3))
        await s.start(own_solver=True)
        await s.until_bound(3)
        s.check_sound()


def serve(*more: str) -> Result:
    return CliRunner().invoke(firmament, ["serve", *more])


@pytest.mark.parametrize("url", ["collector:4317", "ftp://collector", "http://"])
def test_an_address_that_is_none_is_refused_in_one_line(tmp_path, url):
    write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:9")
    run = ["run", f"--kubeconfig={tmp_path / 'kubeconfig'}", f"--traces={url}"]
    for result in (serve(f"--traces={url}"), CliRunner().invoke(poseidon, run)):
        assert (result.exit_code, result.stderr) == (
            2, f"--traces: {url!r} is no address of a collector; write http://HOST:4317\n"
        )  # fmt: skip


def test_without_opentelemetry_what_to_install_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    result = serve("--traces=http://127.0.0.1:4317")
    assert (result.exit_code, result.stderr) == (
        2, "--traces: OpenTelemetry is not installed; pip install 'poseidon-firmament[tracing]'\n"
    )  # fmt: skip
