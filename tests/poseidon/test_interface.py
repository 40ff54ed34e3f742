"""What programs find in the package, and what the command offers, without loading more than that."""

from __future__ import annotations

import importlib
import sys
import types

import pytest

import poseidon
from poseidon import cli


def test_the_functions_of_the_interface_are_found_on_first_use():
    found = importlib.import_module("poseidon.api")
    for name in ("audit", "explain", "plan", "read"):
        assert getattr(poseidon, name) is getattr(found, name)
        assert name in dir(poseidon)
    assert dir(poseidon) == sorted(dir(poseidon))
    assert "__version__" in dir(poseidon)


def test_other_names_are_refused_as_of_any_module():
    with pytest.raises(AttributeError, match="module 'poseidon' has no attribute 'guess'"):
        _ = poseidon.guess  # type: ignore[attr-defined]


def test_a_package_of_the_same_name_elsewhere_is_refused(tmp_path, monkeypatch):
    (tmp_path / "foreign_protos").mkdir()
    refuse = vars(poseidon)["_refuse_foreign"]
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ImportError, match="'foreign_protos' that Python finds first") as raised:
        refuse("protos", "foreign_protos")
    assert raised.value.name == "foreign_protos"
    assert str(tmp_path / "foreign_protos") in str(raised.value)
    refuse("protos", "poseidon", "firmament")


def test_every_command_of_the_folder_is_offered_with_a_sentence():
    folder = importlib.import_module("poseidon.commands").__path__
    from pkgutil import iter_modules

    modules = {each.name.replace("_", "-") for each in iter_modules(folder) if not each.ispkg}
    offered = cli.main.list_commands(types.SimpleNamespace())  # type: ignore[arg-type]
    assert {*offered} <= modules | {"completion"}
    assert all(each.endswith(".") for each in cli._COMMANDS.values())
    assert "poseidon" in sys.modules
