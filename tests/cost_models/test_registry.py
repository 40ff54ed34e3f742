"""Models are found by name among the installed packages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cost_models.firmament_policies.cpu_mem import CpuMem
from cost_models.interface import ModelArgumentError
from cost_models.registry import UnknownModelError, list_available, load_model
from tests.cost_models.packages import install

MODEL = """
from cost_models.interface import ModelArgumentError
from cost_models.firmament_policies.trivial import Trivial


class Threshold(Trivial):
    name = "threshold"
    kind = "overlay"

    def __init__(self, percent: int = 50) -> None:
        if not 0 < percent <= 100:
            raise ModelArgumentError(f"percent is {percent}; it must lie between 1 and 100")
        self.percent = percent
"""


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution of its own, installed for the length of a test, that provides the overlay ``threshold``."""
    (tmp_path / "third_party_threshold.py").write_text(MODEL)
    install(tmp_path, "third-party", "threshold = third_party_threshold:Threshold")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_models_of_this_package_are_available():
    kinds = list_available()
    assert kinds["cpu_mem"] == "policy"
    assert kinds["trivial"] == "policy"
    assert list(kinds) == sorted(kinds)


def test_a_model_is_loaded_by_name():
    assert isinstance(load_model("cpu_mem", {}), CpuMem)


def test_an_unknown_name_lists_what_is_known():
    with pytest.raises(
        UnknownModelError, match=r"^no cost model 'cpu-mem' is installed; known: .*cpu_mem, .*trivial"
    ):
        load_model("cpu-mem", {})


def test_an_unknown_argument_names_the_model_and_the_argument():
    with pytest.raises(ModelArgumentError, match=r"^cpu_mem: unknown argument 'weight'; known: availability"):
        load_model("cpu_mem", {"weight": 3})


@pytest.mark.usefixtures("third_party")
def test_a_model_of_another_package_is_found():
    assert list_available()["threshold"] == "overlay"
    assert load_model("threshold", {"percent": 80}).percent == 80  # type: ignore[attr-defined]


def test_a_package_that_is_installed_while_this_runs_is_found(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    os.utime(tmp_path, (0, 0))  # or both could happen in one tick of the file system's clock
    assert "later" not in list_available()
    (tmp_path / "third_party_later.py").write_text(MODEL)
    install(tmp_path, "third-party", "later = third_party_later:Threshold")
    assert list_available()["later"] == "overlay"


@pytest.mark.usefixtures("third_party")
def test_a_model_of_another_package_refuses_its_arguments():
    refused = r"^threshold: unknown argument 'percentage'; known: percent; did you mean 'percent'\?$"
    with pytest.raises(ModelArgumentError, match=refused):
        load_model("threshold", {"percentage": 80})
    with pytest.raises(ModelArgumentError, match="percent is 0; it must lie between 1 and 100"):
        load_model("threshold", {"percent": 0})


def test_of_two_models_with_one_name_the_first_in_the_alphabet_counts(third_party: Path):
    (third_party / "another_threshold.py").write_text(
        MODEL.replace("Trivial):", "Trivial):\n    another = True")
    )
    install(third_party, "z-another", "threshold = another_threshold:Threshold")
    assert type(load_model("threshold", {})).__module__ == "another_threshold"


@pytest.mark.usefixtures("third_party")
def test_a_package_that_is_gone_takes_its_model_along(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    with pytest.raises(UnknownModelError, match="'threshold'"):
        load_model("threshold", {})
