"""Packages of other distributions, or folders, under the names of this distribution's packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from firmament import _refuse_foreign


def test_own_packages_are_accepted():
    _refuse_foreign("protos", "cost_models", "firmament")


@pytest.mark.parametrize("nested", [False, True])
def test_a_package_elsewhere_is_refused_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nested: bool
):
    folder = tmp_path / "firmament_foreign_package"
    folder.mkdir()
    if nested:
        (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        with pytest.raises(ImportError) as refused:
            _refuse_foreign("cost_models", folder.name)
    finally:
        sys.modules.pop(folder.name, None)
    assert refused.value.name == folder.name
    assert str(refused.value) == (
        f"the package '{folder.name}' that Python finds first is not the one of poseidon-firmament: {folder}; "
        "start Python in another folder, or install poseidon-firmament into an environment of its own"
    )
