"""Running the offline commands as a user would."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from poseidon.cli import main


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command left behind."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        assert self.status == 0, self.stderr
        return json.loads(self.stdout)


@pytest.fixture
def run():
    """Return a function that runs ``poseidon`` with arguments and, if given, standard input."""

    def poseidon(*arguments, stdin=None):
        result = CliRunner().invoke(main, [str(each) for each in arguments], input=stdin)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return poseidon


@pytest.fixture
def write(tmp_path):
    """Return a function that writes objects to a file and returns its path."""

    def to_file(*objects, name="input.yaml"):
        file = tmp_path / name
        file.write_text(yaml.safe_dump_all(objects))
        return file

    return to_file
