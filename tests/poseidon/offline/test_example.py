"""The shipped example application."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml

EXAMPLE = Path(__file__).parents[3] / "examples" / "01-online-boutique"

REQUESTS = {
    "adservice": ("200m", "180Mi"),
    "cartservice": ("200m", "64Mi"),
    "checkoutservice": ("100m", "64Mi"),
    "currencyservice": ("100m", "64Mi"),
    "emailservice": ("100m", "64Mi"),
    "frontend": ("100m", "64Mi"),
    "loadgenerator": ("300m", "256Mi"),
    "paymentservice": ("100m", "64Mi"),
    "productcatalogservice": ("100m", "64Mi"),
    "recommendationservice": ("100m", "220Mi"),
    "redis-cart": ("70m", "200Mi"),
    "shippingservice": ("100m", "64Mi"),
}


def test_it_holds_the_services_with_their_requests():
    found = {}
    for each in yaml.safe_load_all((EXAMPLE / "app.yaml").read_text()):
        requests = each["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
        found[each["metadata"]["name"]] = (requests["cpu"], requests["memory"])
    assert found == REQUESTS


def test_every_pod_finds_a_node(run):
    answer = run("plan", "-f", EXAMPLE, "--config", EXAMPLE / "config.yaml", "-o", "json").json
    assert answer["pending"] == []
    assert len(answer["bindings"]) == 14
    found = {each["pod"]: each["node"] for each in answer["bindings"]}
    assert found["boutique/loadgenerator-0"] == "boutique-b-3"
    assert found["boutique/redis-cart-0"] in ("boutique-a-2", "boutique-b-2")
    assert "boutique-c-1" not in found.values()


def test_explain_works_on_it(run):
    answer = run("explain", "-f", EXAMPLE, "--pod", "boutique/frontend-0", "-o", "json").json
    assert not answer["nodes"]["boutique-c-1"]["feasible"]
    assert answer["nodes"]["boutique-b-3"]["reasons"] == [
        "node(s) had untolerated taint(s) {dedicated: batch}"
    ]


COMMANDS = [
    line.removeprefix("$ poseidon ")
    for line in (EXAMPLE / "README.md").read_text().splitlines()
    if line.startswith("$ poseidon ")
]


def test_the_readme_shows_both_commands():
    assert [command.split()[0] for command in COMMANDS] == ["plan", "explain"]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_readmes_commands_run(run, monkeypatch, command):
    monkeypatch.chdir(EXAMPLE.parents[1])
    outcome = run(*shlex.split(command))
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.stdout
