"""What ``firmament serve`` says before it serves: the effective configuration, and options that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from firmament.cli import main


def serve(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["serve", *map(str, arguments)])


def test_the_effective_configuration_is_printed_and_nothing_is_served(tmp_path: Path):
    file = tmp_path / "c.yaml"
    file.write_text(
        "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\nround: {seed: 7}\n",
        encoding="utf-8",
    )
    done = serve("--config", file, "--print-config")
    assert done.exit_code == 0, done.output
    found = yaml.safe_load(done.stdout)
    assert found["round"]["seed"] == 7
    assert found["policy"]["name"] == "cpu_mem"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--config", "gone.yaml"),
            "gone.yaml: cannot be read: No such file or directory; name a readable file",
        ),
        (("--listen", "nowhere"), "--listen: 'nowhere' is not an address; write HOST:PORT"),
        (
            ("--metrics", "127.0.0.1:0"),
            "--metrics: '127.0.0.1:0': port 0 is out of range; use 1 to 65535",
        ),
        (
            ("--tls-client", "a=b"),
            "--tls-client and --tls-cert go together: say which certificates may drive which cluster",
        ),
    ],
    ids=["configuration", "listen", "metrics", "client"],
)
def test_options_that_cannot_be_used_take_one_line(arguments: tuple[str, ...], said: str):
    done = serve(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"{said}\n"


def test_a_folder_for_rounds_that_cannot_be_written(tmp_path: Path):
    (tmp_path / "file").touch()
    done = serve("--artefacts", tmp_path / "file" / "below")
    assert done.exit_code == 2
    assert done.stderr == (
        f"--artefacts: {tmp_path / 'file' / 'below'} cannot be written to: Not a directory; "
        "name a folder that can\n"
    )


@pytest.mark.parametrize("number", ["0", "1000001"])
def test_how_many_rounds_are_kept_is_bounded(number: str):
    done = serve("--artefacts-rounds", number)
    assert done.exit_code == 2
    assert "Invalid value for '--artefacts-rounds'" in done.stderr
