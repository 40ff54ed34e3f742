"""Credentials are followed while they rotate."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import yaml

from poseidon.kube.client.errors import SettingsError
from poseidon.kube.client.settings import ConnectionSettings, load_settings


class Clock:
    """Seconds since the epoch, as a test says."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def load(folder: Path, user: dict[str, object], wall: Clock | None = None) -> ConnectionSettings:
    path = folder / "config"
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": user}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    return load_settings(path, environ={}, wall=wall or Clock())


def header(settings: ConnectionSettings, *, refused: bool = False) -> str:
    assert settings.credentials is not None
    return settings.credentials.read(refused=refused).authorization


def replace(path: Path, text: str) -> None:
    """Write a file anew as rotation does, so that its state differs however coarse the clock of the file system is."""
    written = path.with_suffix(".new")
    written.write_text(text)
    written.replace(path)


def test_a_token_file_is_followed(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one\n")
    settings = load(tmp_path, {"tokenFile": "token"})
    assert header(settings) == "Bearer one"
    replace(token, "two\n")
    assert header(settings) == "Bearer two"


def test_a_kubeconfig_that_is_written_anew_is_followed(tmp_path: Path) -> None:
    settings = load(tmp_path, {"token": "one"})
    config = tmp_path / "config"
    replace(config, config.read_text().replace("token: one", "token: two"))
    assert header(settings) == "Bearer two"


def test_what_cannot_be_read_is_told_and_tried_again(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one")
    settings = load(tmp_path, {"tokenFile": str(token)})
    token.unlink()
    for _ in range(2):
        with pytest.raises(SettingsError, match="token"):
            header(settings)
    token.write_text("two")
    assert header(settings) == "Bearer two"


def plug_in(folder: Path, *, ends: str | None) -> dict[str, object]:
    """Return a user whose exec plug-in gives token-1, token-2, ...; each run is a line of the file ``runs``."""
    script, runs = folder / "plug-in.py", folder / "runs"
    script.write_text(
        f"""
import json
with open({str(runs)!r}, "a+") as runs:
    runs.write("run\\n")
    runs.seek(0)
    count = len(runs.readlines())
status = {{"token": f"token-{{count}}"}}
if {ends!r}:
    status["expirationTimestamp"] = {ends!r}
print(json.dumps({{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}}))
"""
    )
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(script)],
            "interactiveMode": "Never",
        }
    }


def test_a_plug_in_runs_again_before_its_credentials_expire(tmp_path: Path) -> None:
    wall = Clock()  # 2027-01-15T08:00:00Z
    settings = load(tmp_path, plug_in(tmp_path, ends="2027-01-15T08:10:00Z"), wall)
    for wall.now, token in ((1_800_000_000.0, 1), (1_800_000_560.0, 1), (1_800_000_571.0, 2)):
        assert header(settings) == f"Bearer token-{token}"


def test_a_plug_in_runs_again_when_its_credentials_are_refused(tmp_path: Path) -> None:
    settings = load(tmp_path, plug_in(tmp_path, ends=None))
    assert [header(settings), header(settings)] == ["Bearer token-1"] * 2
    assert header(settings, refused=True) == "Bearer token-2"
    assert header(settings) == "Bearer token-2"


def test_a_plug_in_that_gives_nothing_is_one_clear_line(tmp_path: Path) -> None:
    user: dict[str, object] = {
        "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/false"}
    }
    with pytest.raises(SettingsError, match=r"exec: '/bin/false' gave no credentials") as caught:
        load(tmp_path, user)
    assert "\n" not in str(caught.value)


def test_the_token_of_a_service_account_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kubelet replaces the folder that a symbolic link leads to."""
    from kubernetes.config import incluster_config

    from tests.support.certificates import make_authority

    first, second, link = tmp_path / "first", tmp_path / "second", tmp_path / "..data"
    for folder in (first, second):
        folder.mkdir()
        (folder / "token").write_text(folder.name)
        (folder / "ca.crt").write_bytes(make_authority(tmp_path, folder.name).certificate.read_bytes())
    link.symlink_to(first)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(link / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(link / "ca.crt"))
    for name, value in (("HOST", "10.0.0.1"), ("PORT", "443")):
        monkeypatch.setenv(f"KUBERNETES_SERVICE_{name}", value)
    settings = load_settings(environ={**os.environ, "HOME": str(tmp_path), "KUBECONFIG": ""}, wall=Clock())
    assert settings.credentials is not None
    before = settings.credentials.read()
    assert before == settings.credentials.read()
    assert before.authorization.lower() == "bearer first"
    assert before.tls is settings.tls
    link.unlink()
    link.symlink_to(second)
    after = settings.credentials.read()
    assert after.authorization.lower() == "bearer second"
    assert after.tls is not before.tls
