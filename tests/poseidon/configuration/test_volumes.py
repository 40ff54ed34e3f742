"""The section `volumes`."""

from __future__ import annotations

import pytest

from poseidon.configuration.document import load
from protos.configuration.file import ConfigurationError

HEADER = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"


def test_the_default_is_kube_schedulers():
    assert load(None).volumes.bind_timeout == 600.0


def test_it_may_be_shorter(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(HEADER + "volumes: {bindTimeout: 2m}\n", encoding="utf-8")
    assert load(path).volumes.bind_timeout == 120.0


@pytest.mark.parametrize("written", ["0", "soon", "2h"])
def test_no_time_is_no_time(tmp_path, written):
    path = tmp_path / "config.yaml"
    path.write_text(HEADER + f"volumes: {{bindTimeout: {written}}}\n", encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        load(path)
    [line] = caught.value.lines
    assert "volumes.bindTimeout" in line
