"""Answers are frozen dataclasses that are dictionaries, frames, text and pages as well; commands print the same."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from poseidon import audit, explain, plan, read
from poseidon.api import AuditResult, ExplainResult, PlanResult, UnknownPodError
from poseidon.cli import main
from tests.poseidon.api.cluster import node, pod

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "01-online-boutique"
FULL = [node("a", cpu="2"), pod("small"), pod("large", cpu="3")]


def answers() -> list[Any]:
    cluster = read(FULL)
    return [plan(cluster), explain(cluster, pod="large"), audit(cluster)]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["plan"], lambda: plan(EXAMPLE)),
        (["explain", "--pod", "boutique/frontend-0"], lambda: explain(EXAMPLE, pod="boutique/frontend-0")),
        (["audit"], lambda: audit(EXAMPLE)),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_commands_print_what_the_functions_return(words, answer):
    done = CliRunner().invoke(main, [*words, "-f", str(EXAMPLE), "-o", "json"])
    assert done.exit_code == 0, done.stderr
    printed, returned = json.loads(done.stdout), json.loads(json.dumps(answer().to_dict()))
    for each in (printed, returned):
        each.get("round", {}).pop("seconds", None)
    assert printed == returned


def test_tables_of_the_command_are_the_text():
    done = CliRunner().invoke(main, ["plan", "-f", str(EXAMPLE)])
    text = str(plan(EXAMPLE))
    assert re.sub(r"\d+ ms", "", done.stdout.strip()) == re.sub(r"\d+ ms", "", text.strip())
    assert str(explain(FULL, pod="large")).startswith("Pod default/large goes on waiting")
    assert str(audit(FULL)).startswith("0 pods run on 1 node.")


def test_answers_are_frozen_and_say_in_one_line_what_they_are():
    kinds = [PlanResult, ExplainResult, AuditResult]
    for answer, kind in zip(answers(), kinds, strict=True):
        assert isinstance(answer, kind)
        assert re.fullmatch(rf"<{kind.__name__}: [^\n]+>", repr(answer))
        name = dataclasses.fields(cast("Any", answer))[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(answer, name, None)


def test_frames_have_a_row_for_each_pod_node_or_finding():
    made, told, found = answers()
    pods = made.to_pandas().set_index("pod")
    assert pods.loc["small", ["state", "node"]].tolist() == ["bound", "a"]
    assert pods.loc["large", "state"] == "pending"
    assert "Insufficient cpu" in pods.loc["large", "reason"]
    assert made.to_pandas("nodes").loc[0, "cpu free"] == 1000
    nodes = told.to_pandas()
    assert nodes["node"].tolist() == ["a"]
    assert {"feasible", "cost", "cpu_mem", "reasons"} <= set(nodes)
    assert len(told.to_pandas("cures")) == len(told.cures) > 0
    assert found.to_pandas("pending")["pod"].tolist() == ["default/large"]
    with pytest.raises(ValueError, match="there is no table 'pod'; there are pods, nodes"):
        made.to_pandas("pod")


def test_without_pandas_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ImportError, match=r"^to_pandas needs pandas: pip install 'poseidon-firmament\[notebook\]'$"
    ):
        plan(FULL).to_pandas()


def test_notebooks_show_a_sentence_and_the_dashboards_page(tmp_path):
    for answer in answers():
        shown = answer._repr_html_()
        assert shown.startswith("<p>")
        [address] = re.findall(r'src="data:text/html;base64,([^"]+)"', shown)
        page = base64.b64decode(address).decode()
        assert page.startswith("<!doctype html>")
        assert 'id="answers"' in page
        answer.save_html(tmp_path / "page.html")
        assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_a_name_from_the_cluster_is_shown_literally():
    evil = plan(node("a", cpu="2"), {**pod("x"), "metadata": {"name": "x", "namespace": "d"}})
    assert "<script>alert" not in evil._repr_html_()
    with pytest.raises(UnknownPodError) as raised:
        explain(FULL, pod="larg")
    assert str(raised.value) == "pod default/larg is not in the input; did you mean default/large?"


def test_what_the_solver_refuses_of_files_is_an_input_error():
    """The command ends with the same lines."""
    made = plan(FULL, scheduler_names=["other"])
    assert made.bindings == ()
    assert any("spec.schedulerName" in line or "schedule" in line for line in made.warnings)


def test_the_functions_are_found_at_the_package_and_nothing_else_is():
    import poseidon

    assert {"audit", "explain", "plan", "read"} <= set(dir(poseidon))
    with pytest.raises(AttributeError, match="has no attribute 'plann'"):
        getattr(poseidon, "plann")  # noqa: B009 - types say so, too


def test_the_command_writes_the_same_page(tmp_path):
    page = tmp_path / "plan.html"
    done = CliRunner().invoke(main, ["plan", "-f", str(EXAMPLE), "--html", str(page)])
    assert done.exit_code == 0, done.stderr
    assert "CPU requested of the nodes that get pods" in page.read_text()
    assert page.read_text() == plan(EXAMPLE).to_html()
