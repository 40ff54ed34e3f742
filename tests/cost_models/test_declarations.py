"""What models declare of themselves is checked when they are loaded: in one line, by the model's name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cost_models.conformance import check_declaration
from cost_models.declarations import METHODS, declaration_faults
from cost_models.interface import BaseModel, ModelDeclarationError, Range
from cost_models.registry import list_available, load_model
from firmament.cli import main as firmament
from firmament.configuration.document import SchedulerConfiguration, build_core
from poseidon.cli import main as poseidon
from protos.configuration.file import ConfigurationError
from tests.cost_models.packages import install, install_model

MISSPELT = 'needs = Needs(lables=("app",))'

REFUSED = {
    # a need or promise that is none
    MISSPELT: "cannot be imported: Needs has no field 'lables'; did you mean 'labels'?",
    "promises = Promises(per_machin=True)": "has no field 'per_machin'; did you mean 'per_machine'?",
    "needs = Needs(telepathy=True)": "Needs has no field 'telepathy'; known: labels, ",
    'needs = Needs(labels="app")': "Needs.labels is 'app'; it must be a tuple of non-empty texts, such as ('a',)",
    'needs = Needs(records=["kind"])': "Needs.records is ['kind']; it must be a tuple",
    'needs = Needs(records=("",))': "Needs.records is ('',); it must be a tuple of non-empty",
    "needs = Needs(load=1)": "Needs.load is 1; it must be True or False",
    'promises = Promises(groups="yes")': "Promises.groups is 'yes'; it must be True or False",
    "def __init__(self): self.needs = Needs(laod=True)": "Needs has no field 'laod'; did you mean 'load'?",
    "needs = ('load',)": "needs must be a Needs; inherit from BaseModel, or write needs = Needs()",
    "promises = None": "promises must be a Promises; inherit from BaseModel, or write promises = Promises()",
    # what was looked up by name before, and what is spelt almost like something
    "uses_load = True": "uses_load is an attribute that nothing looks at; write needs = Needs(load=True)",
    "uses_arrivals = True": "uses_arrivals is an attribute that nothing looks at; write needs = Needs(arrivals=...)",
    "uses_clairvoyance = True": "uses_clairvoyance is an attribute that nothing looks at; write needs = Needs(...)",
    "uses_unseen = property(lambda self: 1 / 0)": "uses_unseen is an attribute that nothing looks at; write needs",
    "label_keys = ('app',)": "label_keys is an attribute that nothing looks at; write needs = Needs(labels=...)",
    "record_kinds = ()": "record_kinds is an attribute that nothing looks at; write needs = Needs(records=...)",
    "pair_keys = ('app',)": "write needs = Needs(kind_labels=...) and promises = Promises(pairs=True)",
    "constraint_keys = ('app',)": "Needs(kind_labels=...) and promises = Promises(constraints=True)",
    "plans_groups = True": "write promises = Promises(groups=True)",
    "per_machine = True": "per_machine is an attribute that nothing looks at; write promises = Promises(per_machine",
    "per_machines = True": "per_machines is an attribute that nothing looks at; write promises = Promises(per_machi",
    "label = ['app']": "label is an attribute that nothing looks at; write needs = Needs(labels=...), or rename it",
    "resident = True": "resident is an attribute that nothing looks at; write needs = Needs(residents=True), or",
    "need = Needs(load=True)": "need is an attribute that nothing looks at; write needs, or rename it",
    "promisses = Promises()": "promisses is an attribute that nothing looks at; write promises, or rename it",
    "def lasts_untill(self, machines): ...": "lasts_untill is an attribute that nothing looks at; write lasts_until",
    # what cannot hold together
    "needs, promises = Needs(load=True), Promises(per_machine=True)": "cannot be promised by a model with needs.load",
    "needs = Needs(records=('k',), arrivals=('k',)); promises = Promises(per_machine=True)": "with needs.arrivals",
    "promises = Promises(expires=True)": "promises.expires is about answers by machine; add per_machine=True",
    "promises = Promises(pairs=True)": "promises.pairs is True, but needs.kind_labels is empty; name the labels",
    "needs = Needs(kind_labels=('app',))": "needs.kind_labels is for promises.pairs and promises.constraints; add one",
    "promises = Promises(constraints=True)": "promises.constraints is True, but needs.kind_labels is empty",
    "needs = Needs(arrivals=('k',))": "needs.arrivals names 'k', but needs.records does not; add it there",
    # methods that are promised, and those that nobody calls
    "promises = Promises(groups=True)": "the method topology_terms is missing, which promises.groups says",
    "needs, promises = Needs(kind_labels=('a',)), Promises(pairs=True)": "the method pair_terms is missing",
    "needs, promises = Needs(kind_labels=('a',)), Promises(constraints=True)": "the method constraint is missing",
    "promises = Promises(per_machine=True, expires=True)": "the method lasts_until is missing",
    "def topology_terms(self, machines): ...": "topology_terms is never called; write promises = Promises(groups=True)",
    "def lasts_until(self, machines): ...": "lasts_until is never called; write promises = Promises(expires=True)",
    "crowding = None": "the method crowding is missing; write it",
    # the rest
    "kind = 'base'": "kind is 'base'; it must be 'policy' or 'overlay'",
    "range = (0, 100)": "range must be a Range",
    "name = ''": "name must be a non-empty string",
    "import no_such_module": "No module named 'no_such_module'",
}

ACCEPTED = (
    'needs = Needs(labels=("app",), load=True, records=("k",), arrivals=("k",))',
    "limit, names, namespace, domains, strict, noted = 3, (), 'default', ('rack',), True, True",
    "resources, node_labels, margins, limits = ('cpu',), ('rack',), {'cpu': 1}, {'cpu': 1}",
    "def reassess(self): ...",
    "def label(self): ...",
)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("body", REFUSED)
def test_what_cannot_be_is_refused_when_the_model_is_loaded(site: Path, body: str):
    install_model(site, body)
    with pytest.raises(ModelDeclarationError) as refused:
        load_model("declared", {})
    message = str(refused.value)
    assert message.startswith("declared: ")
    assert REFUSED[body] in message
    assert message.count("\n") == 0


@pytest.mark.parametrize("body", ACCEPTED)
def test_what_only_looks_alike_is_not_refused(site: Path, body: str):
    install_model(site, body)
    check_declaration(load_model("declared", {}))


def test_a_class_without_a_kind_is_refused(site: Path):
    (site / "kindless.py").write_text("class Kindless:\n    kidn = 'overlay'\n")
    install(site, "kindless", "kindless = kindless:Kindless")
    with pytest.raises(ModelDeclarationError, match=r"^kindless: kind is None; it must be 'policy' or"):
        load_model("kindless", {})


def test_a_model_that_inherits_nothing_has_to_declare_all():
    class Bare:
        name, kind, range = "bare", "overlay", Range(best=0, worst=1)

    assert next(declaration_faults(Bare())).startswith("needs must be a Needs; ")  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="bare: needs must be a Needs"):
        check_declaration(Bare())  # type: ignore[arg-type]


def test_every_promised_method_is_asked_for():
    class Complete(BaseModel):
        name, kind, range = "complete", "overlay", Range(best=0, worst=1)
        assess = lasts_until = pair_terms = pair_verdict = topology_terms = BaseModel.crowding
        constraint = restore_constraint = BaseModel.crowding

    uncalled = " ".join(declaration_faults(Complete()))  # type: ignore[arg-type]
    for name in (name for names in METHODS.values() for name in names):
        assert f"the method {name} is never called" in uncalled


# --- through configurations and commands ------------------------------------------------------------------------------


def test_a_model_that_nobody_uses_keeps_nobody_from_working(site: Path):
    install_model(site, MISSPELT)
    assert "declared" not in list_available()
    assert build_core(SchedulerConfiguration()).policy.model.name == "cpu_mem"


def test_a_configuration_names_the_field(site: Path):
    install_model(site, "uses_load = True")
    configuration = SchedulerConfiguration.model_validate({"costModels": [{"name": "declared"}]})
    with pytest.raises(
        ConfigurationError, match=r"costModels\[0\]\.name: declared: uses_load is an attribute that"
    ):
        build_core(configuration)


@pytest.mark.parametrize("body", [MISSPELT, "uses_load = True"])
@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (poseidon, ["plan", "-f", "{pods}", "--config", "{config}"]),
        (firmament, ["serve", "--config", "{config}"]),
    ],
    ids=["plan", "serve"],
)
def test_commands_end_with_2_and_one_line(site: Path, body: str, command, arguments: list[str]):
    install_model(site, body)
    config, pods = site / "config.yaml", site / "pods.json"
    header = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
    config.write_text(header + "costModels: [{name: declared}]\n")
    pods.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": []}))
    done = CliRunner().invoke(command, [each.format(config=config, pods=pods) for each in arguments])
    assert done.exit_code == 2
    assert done.stdout == ""
    assert (
        done.stderr == f"{config}: costModels[0].name: declared: {REFUSED[body].removeprefix('declared: ')}\n"
    )
