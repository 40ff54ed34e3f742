"""Credentials are shown nowhere: not in the configuration, not in faults of it, not in the log, not by commands."""

from __future__ import annotations

import io
import logging
from urllib.parse import urlsplit

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.cli import main as firmament
from firmament.configuration import document as solver
from poseidon.cli import main as poseidon
from poseidon.configuration import document as bridge
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from protos.configuration.file import ConfigurationError
from protos.conventions.logs import FORMATTERS
from protos.conventions.secrets import redact_configuration, redact_credentials, redact_value
from tests.support.effort import examples

SECRET = "hunter2"
HEADER = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
PROMETHEUS = """
utilisation:
  prometheus:
    url: http://reader:hunter2@prometheus.monitoring:9090
    queries: [{query: "up", resource: cpu}]
"""
MODEL = """
costModels:
- name: of_a_package
  args: {apiToken: hunter2, source: "https://a:hunter2@b/c?token=hunter2&x=1", tokenFile: /etc/token}
"""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://u:hunter2@h:9090/x", "http://***@h:9090/x"),
        ("http://hunter2@h", "http://***@h"),
        ("http://u:p@hunter2@h/x", "http://***@h/x"),
        ("http://u:hun/hunter2@h/x", "http://***@h/x"),
        ("postgresql://u:hunter2@h/db", "postgresql://***@h/db"),
        ("GET https://h/x?token=hunter2&y=1: refused", "GET https://h/x?token=***&y=1: refused"),
        ("https://h/x?y=1&access_token=hunter2", "https://h/x?y=1&access_token=***"),
        ("https://h/cb#id_token=hunter2", "https://h/cb#id_token=***"),
        ("https://h/x?X-Amz-Signature=hunter2", "https://h/x?X-Amz-Signature=***"),
        ("https://h/x?PASSWORD=hunter2", "https://h/x?PASSWORD=***"),
    ],
)
def test_credentials_of_urls_are_cut_and_nothing_else(text, shown):
    assert redact_credentials(text) == shown
    assert redact_value(text) == shown
    assert redact_credentials(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "http://prometheus:9090",
        "a pod@node of http://h/x and mail@example.com",
        '{"a": "http://h:9090", "b": "x@y"}',
        "up{a='b'} == 1",
        'up{instance="http://h"}@end()',
        "sum(job:cpu:rate5m@1609746000)",
        "[::1]:9090",
    ],
)
def test_other_texts_stay(text):
    assert redact_credentials(text) == text
    assert redact_value(text) == text


@given(
    user=st.text("abc:@!$&'()*+,;=%", max_size=6),
    before=st.sampled_from(["", "see ", '{"url": "']),
    after=st.sampled_from(["", "/path", "/p?x=1", ":9090/a@b", '"}']),
)
@settings(max_examples=examples(200))
def test_no_userinfo_is_left_whatever_characters_it_has(user, before, after):
    text = f"{before}http://{user}{SECRET}@host{after}"
    shown = redact_credentials(text)
    assert SECRET not in shown
    assert shown.startswith(f"{before}http://***@")
    assert redact_credentials(shown) == shown


@given(st.text(max_size=12).filter(lambda each: not set(each) & set("/\\#?[] \t\n")))
@settings(max_examples=examples(100))
def test_a_url_that_is_a_value_of_its_own_may_hold_any_password(password):
    value = f"http://u:{SECRET}{password}@host:9090"
    shown = redact_value(value) if not any(each.isspace() for each in password) else ""
    assert SECRET not in shown
    if shown:
        assert urlsplit(shown).hostname == "host"


def test_texts_by_names_of_secrets_are_cut_in_configurations():
    given = {
        "password": SECRET,
        "apiKey": SECRET,
        "tokenFile": "f",
        "a": [{"client_secret": SECRET}],
        "token": "",
    }
    assert redact_configuration(given) == {
        "password": "***",
        "apiKey": "***",
        "tokenFile": "f",
        "a": [{"client_secret": "***"}],
        "token": "",
    }


def test_the_configuration_that_is_shown_has_none_and_can_be_read_again(tmp_path):
    path = tmp_path / "scheduler.yaml"
    for load, more in ((bridge.load, MODEL), (solver.load, "")):
        path.write_text(HEADER + PROMETHEUS + more)
        shown = load(path).effective_yaml()
        assert SECRET not in shown
        assert "http://***@prometheus.monitoring:9090" in shown
        again = tmp_path / "again.yaml"
        again.write_text(shown)
        assert yaml.safe_load(load(again).effective_yaml()) == yaml.safe_load(shown)
    for main, command in ((poseidon, "run"), (firmament, "serve")):
        outcome = CliRunner().invoke(main, [command, "--config", str(path), "--print-config"])
        assert outcome.exit_code == 0, outcome.output
        assert SECRET not in outcome.output


@pytest.mark.parametrize(
    "url",
    [
        "ftp://u:hunter2@h",
        "http://u:hunter2@h?token=hunter2",
        "http://u:hunter2@",
        "u:hunter2@h:9090",
        "hunter2@h",
        "//u:hunter2@h",
        "[http://u:hunter2@h]",
        "{a: http://u:hunter2@h}",
    ],
)
def test_faults_of_a_configuration_quote_none(tmp_path, url):
    path = tmp_path / "scheduler.yaml"
    path.write_text(HEADER + PROMETHEUS.replace("http://reader:hunter2@prometheus.monitoring:9090", url))
    with pytest.raises(ConfigurationError) as caught:
        bridge.load(path)
    assert SECRET not in str(caught.value)


def test_the_log_has_none():
    for form in ("text", "json"):
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        handler.setFormatter(FORMATTERS[form]())
        log = logging.Logger("poseidon.x")  # noqa: LOG001 - one that nobody else hears
        log.addHandler(handler)
        log.warning(
            'failed server=%s error="%s"', f"http://u:{SECRET}@h", f"GET http://u:{SECRET}@h/?token={SECRET}"
        )
        log.warning("no pairs http://u:%s@h", SECRET)
        try:
            int(f"http://u:{SECRET}@h")
        except ValueError:
            log.exception("it ended")
        assert SECRET not in stream.getvalue()
        assert "***@h" in stream.getvalue()


async def test_clients_name_servers_without():
    url = f"http://u:{SECRET}@127.0.0.1:1"
    async with Transport(ConnectionSettings(url), clock=lambda: 0.0) as transport:
        assert transport.server == "http://***@127.0.0.1:1"
        with pytest.raises(Exception) as caught:  # noqa: PT011 - of whatever kind, it may not quote it
            await transport.get("/version")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        ["top", "--bridge", f"ftp://u:{SECRET}@h"],
        ["top", "--bridge", f"http://u:{SECRET}@127.0.0.1:1/metrics"],
        ["run", "--traces", f"ftp://u:{SECRET}@h"],
        ["run", "--traces", f"u:{SECRET}@h"],
        ["explain", "--pod", "a/b", f"--nothing=http://u:{SECRET}@h"],
    ],
)
def test_commands_end_without_them(arguments):
    outcome = CliRunner().invoke(poseidon, arguments)
    assert outcome.exit_code != 0
    assert SECRET not in outcome.output
