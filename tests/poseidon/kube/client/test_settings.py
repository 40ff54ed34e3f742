"""Kubeconfigs of plain HTTP are read without the official package, to the same settings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from poseidon.kube.client import settings
from poseidon.kube.client.errors import SettingsError
from poseidon.kube.client.settings import load_settings
from poseidon.testbed.kubeconfig import write_kubeconfig
from tests.support.effort import examples

SERVERS = [
    "http://127.0.0.1:1",
    "http://10.0.0.1:8001/",
    "http://api/k8s/c",
    "https://10.0.0.1",
    "HTTP://api",
    "api",
    "",
]
USERS: list[Any] = [{}, None, {"token": "t"}, {"username": "u", "password": "p"}, {"tokenFile": "missing"}]


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the official package were not installed."""
    for name in [each for each in sys.modules if each.partition(".")[0] == "kubernetes"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kubernetes", None)


def document(
    server: str, user: Any, cluster: dict[str, Any], *, twice: bool, user_name: str
) -> dict[str, Any]:
    named = {"name": "c", "cluster": {"server": server, **cluster}}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [named, {**named, "name": "c" if twice else "d"}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": user_name}}],
        "current-context": "x",
    }


def describe(path: Path, context: str | None) -> tuple[Any, ...]:
    """What settings come to, for comparison."""
    try:
        found = load_settings(path, context, environ={})
    except SettingsError as error:
        return (str(error),)
    assert found.credentials is not None
    held = found.credentials.read()
    tls = found.tls is not None
    return (found.server, tls, found.tls_server_name, found.proxy, held.authorization)


@given(
    server=st.sampled_from(SERVERS),
    user=st.sampled_from(USERS),
    cluster=st.sampled_from([{}, {}, {"proxy-url": "http://proxy:1"}, {"tls-server-name": "n"}]),
    twice=st.booleans(),
    user_name=st.sampled_from(["u", "u", "", "nobody"]),
    context=st.sampled_from([None, None, "x", "other"]),
    proxies=st.sampled_from([{}, {"http": "http://p:2"}, {"http": "http://p:2", "no": "10.0.0.1,api"}]),
)
@hypothesis.settings(max_examples=examples(100))
def test_a_kubeconfig_comes_to_what_the_official_package_makes_of_it(
    tmp_path_factory, server, user, cluster, twice, user_name, context, proxies
):
    path = tmp_path_factory.mktemp("kubeconfig") / "config"
    path.write_text(yaml.safe_dump(document(server, user, cluster, twice=twice, user_name=user_name)))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("http_proxy", "https_proxy", "no_proxy"):
            patch.delenv(name, raising=False)
            patch.delenv(name.upper(), raising=False)
        for name, value in proxies.items():
            patch.setenv(f"{name}_proxy", value)
        ours = describe(path, context)
        patch.setattr(settings, "_read_plain_server", lambda *_: None)
        assert ours == describe(path, context)


def test_plain_http_needs_no_official_package(tmp_path: Path, without_package: None) -> None:
    path = tmp_path / "config"
    write_kubeconfig(path, "http://127.0.0.1:8001")
    assert load_settings(path, environ={}).server == "http://127.0.0.1:8001"


@pytest.mark.parametrize("text", ["", "[]", "a: [", "contexts: 3", "\0"])
def test_what_else_there_is_names_the_extra_that_reads_it(
    tmp_path: Path, without_package: None, text: str
) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"pip install 'poseidon-firmament\[bridge\]'"):
        load_settings(path, environ={})
