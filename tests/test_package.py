"""The package as a whole: rooms, imports, README, version."""

import csv
import functools
import importlib
import importlib.metadata
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path

import pytest

import sklearn_disent
from sklearn_disent.metrics import _catalogue

ROOT = Path(__file__).parents[1]
ROOMS = sorted(set(sklearn_disent.__all__) - {"__version__", "show_versions"})


def run(code):
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize("room", ROOMS)
def test_room_loads_on_first_use_and_names_what_it_has(room):
    module = getattr(sklearn_disent, room)
    assert module.__name__ == f"sklearn_disent.{room}"
    assert module.__doc__
    for name in module.__all__:
        public = getattr(module, name)
        assert not callable(public) or public.__doc__, name


def test_every_room_is_listed():
    rooms = {
        path.parent.name for path in Path(sklearn_disent.__file__).parent.glob("*/__init__.py")
    }
    assert rooms <= set(ROOMS)


def test_unknown_room_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'attic'"):
        sklearn_disent.attic  # noqa: B018


def test_import_is_lazy():
    run("import sys, sklearn_disent; assert not {'sklearn', 'torch'} & set(sys.modules)")


def test_rooms_load_what_they_need():
    # One process for all rooms, in which the first that loads one of these is named.
    run("""
import importlib, sys
heavy = {"torch", "skorch", "h5py", "PIL", "tqdm", "matplotlib", "gudhi"}
for room in ("datasets", "model_selection", "metrics", "logic", "inspection"):
    module = importlib.import_module(f"sklearn_disent.{room}")
    [getattr(module, name) for name in module.__all__]
    assert not heavy & set(sys.modules), (room, heavy & set(sys.modules))

# Metrics of models that only call their methods.
import numpy as np
from sklearn_disent.metrics import elbo_decomposition, posterior_mig_score
class Model:
    def posterior(self, X): return X, X * 0
    def elbo_terms(self, X): return X[:, 0], X[:, 0] ** 2
X = np.random.default_rng(0).normal(size=(20, 2))
elbo_decomposition(Model(), X); posterior_mig_score(Model(), X, X > 0)
assert not {"torch", "skorch"} & set(sys.modules)

# matplotlib loads only to draw.
import sklearn_disent
[getattr(sklearn_disent, name) for name in sklearn_disent.__all__]
assert "matplotlib.pyplot" not in sys.modules
""")


def test_show_versions_names_every_dependency_and_the_threads(capsys):
    sklearn_disent.show_versions()
    out = capsys.readouterr().out
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for line in [*project["dependencies"], *extras["plot"], *extras["topology"]]:
        name = re.match(r"[\w.-]+", line).group()
        assert re.search(rf"^ +{name}: \S", out, re.MULTILINE | re.IGNORECASE), name
    assert f"sklearn-disent: {sklearn_disent.__version__}\n" in out
    assert re.search(r"numpy: \d+\.\d+", out)
    assert re.search(r"torch threads: \d", out)
    assert not re.search("pytest|sphinx", out)


def test_show_versions_of_a_broken_installation_says_what_is_broken(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if its libraries did not load

    def requires(name):
        return ["numpy>=1.26", "no-such-package>=1", "gone>=2; extra == 'plot'"]

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    sklearn_disent.show_versions()
    out = capsys.readouterr().out
    assert re.search(r"torch: cannot be asked: ModuleNotFoundError", out)
    assert "no-such-package: not installed" in out
    assert "Extra 'plot'\n    gone: not installed" in out


def test_show_versions_without_metadata_gives_the_version_of_the_source(capsys, monkeypatch):
    def requires(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    sklearn_disent.show_versions()
    assert f"sklearn-disent: {sklearn_disent.__version__}\n" in capsys.readouterr().out


def readme_blocks(language):
    text = (ROOT / "README.md").read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_readme_commands_name_what_exists():
    main, tests = (block.strip() for block in readme_blocks("bash"))
    script = main.split("python ")[1]
    assert (ROOT / script).is_file()
    assert tests.endswith("python -m pytest")
    for link in re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / link).exists(), link


# -- what CONTRIBUTING says about new metrics and models --------------------------------------

CONTRIBUTING = ROOT / "CONTRIBUTING.md"
needs_contributing = pytest.mark.skipif(
    not CONTRIBUTING.is_file(), reason="CONTRIBUTING.md is not part of a source distribution"
)


def files_to_touch(title):
    """Patterns of the files in the numbered list below a title of CONTRIBUTING.md."""
    section = CONTRIBUTING.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    paths = re.findall(r"^\d\. `(\S+)`:", section, flags=re.MULTILINE)
    return {path: re.compile(re.sub(r"<\w+>", r"\\w+", re.escape(path))) for path in paths}


@functools.cache
def words_of_files():
    """Path -> words of every page, and names in the code of every module."""
    found = {}
    for folder in ("sklearn_disent", "tests", "docs"):
        for path in (ROOT / folder).rglob("*.*"):
            name = path.relative_to(ROOT).as_posix()
            if re.search(r"/(generated|gallery|_build|results)/|__pycache__", name):
                continue
            if path.suffix == ".py":
                # Without docstrings and messages, in which metrics may name each other.
                tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
                found[name] = {token.string for token in tokens if token.type == tokenize.NAME}
            elif path.suffix == ".rst":
                found[name] = set(re.findall(r"\w+", path.read_text()))
    return found


def naming(name, *folders):
    """Files below the folders that name it."""
    return [
        file
        for file, words in words_of_files().items()
        if file.startswith(folders) and name in words
    ]


@needs_contributing
@pytest.mark.parametrize(("title", "limit"), [("A new metric", 6), ("A new model", 3)])
def test_files_to_touch_are_few_and_exist(title, limit):
    patterns = files_to_touch(title)
    assert 0 < len(patterns) <= limit
    for path, pattern in patterns.items():
        assert any(pattern.fullmatch(file) for file in words_of_files()), path


@needs_contributing
def test_metrics_are_named_in_the_files_to_touch_only():
    patterns = files_to_touch("A new metric")
    # ModelCentrality is the FactorVAE score between the codes of two models.
    users = {"factor_vae_score": "sklearn_disent/metrics/independence/_centrality.py"}
    pages = [path for path in patterns if path.startswith("docs/")]
    for metric in _catalogue.CATALOGUE:
        name = metric.function.__name__
        found = [
            file for file in naming(name, "sklearn_disent/metrics/") if file != users.get(name)
        ]
        assert len(found) == sum(path.startswith("sklearn_disent/") for path in patterns), found
        for file in found:
            assert any(p.fullmatch(file) for p in patterns.values()), f"{file} names {name}"
        # The guide may name it anywhere; the reference and the tables of tests need not.
        assert set(pages) <= set(naming(name, "docs/guide/")), name
        assert naming(name, "docs/api/", "docs/conf.py", "docs/_ext/") == [], name
        assert naming(name, "tests/metrics/"), f"{name} has no test of its own"


@needs_contributing
@pytest.mark.parametrize("name", ["dcimig_score", "omes_score", "infoe_score"])
def test_metric_took_six_files(name):
    patterns = files_to_touch("A new metric").values()
    touched = [file for file in naming(name, "") if any(p.fullmatch(file) for p in patterns)]
    assert len(touched) <= 6, touched
    # Metrics with reference values also have a row in the one table of these.
    rest = set(naming(name, "sklearn_disent/", "tests/", "docs/api/")) - set(touched)
    assert rest <= {"tests/metrics/test_golden.py"}


@needs_contributing
def test_models_are_named_in_the_files_to_touch_only():
    patterns = files_to_touch("A new model")
    public = {name: getattr(sklearn_disent.models, name) for name in sklearn_disent.models.__all__}
    classes = {name for name, item in public.items() if hasattr(item, "transform")}
    assert len(classes) > 10
    # Other models are built on these.
    for name in classes - {"BaseVAE", "VAE", "NeuralNetTransformer"}:
        found = [
            file
            for file in naming(name, "sklearn_disent/")
            if f"class {name}(" in (ROOT / file).read_text() or file.endswith("/__init__.py")
        ]
        assert len(found) == sum(path.startswith("sklearn_disent/") for path in patterns), found
        for file in found:
            assert any(p.fullmatch(file) for p in patterns.values()), f"{file} names {name}"
        assert naming(name, "docs/api/", "docs/conf.py", "docs/_ext/") == [], name
        assert naming(name, "tests/models/"), f"{name} has no test of its own"


@needs_contributing
@pytest.mark.parametrize("name", ["QuantizedAE", "JointVAE", "SlowVAE"])
def test_model_took_three_files(name):
    patterns = files_to_touch("A new model").values()
    found = naming(name, "sklearn_disent/", "docs/api/")
    # Names in strings count here: tables of tests are keyed by them.
    tests = (path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__))
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in tests}
    found += [file for file, text in texts.items() if re.search(rf"\b{name}\b", text)]
    assert len(found) == 3, found
    assert all(any(p.fullmatch(file) for p in patterns) for file in found), found


def test_constraints_pin_every_dependency():
    pins = re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE)
    pins = {name.lower() for name in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    names = {re.match(r"[\w.-]+", line).group().lower() for line in needed}
    assert names - {"sklearn-disent"} <= pins


@pytest.mark.skipif(not (ROOT / ".ci").is_dir(), reason="no scripts of the repository")
def test_conda_recipe_asks_for_what_the_package_asks_for():
    run = (ROOT / ".ci" / "conda" / "meta.yaml").read_text().split("  run:\n")[1].split("\n\n")[0]
    asked = {line.strip(" -").replace(" ", "") for line in run.splitlines()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {line.replace("torch>=", "pytorch>=") for line in project["dependencies"]}
    assert asked == needed | {f"python{project['requires-python']}"}


@pytest.mark.skipif(not (ROOT / ".ci").is_dir(), reason="no scripts of the repository")
def test_every_dependency_has_an_oldest_version_that_is_not_above_the_tested_one():
    command = [sys.executable, ROOT / ".ci" / "floors.py"]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    oldest = dict(line.split("==") for line in run.stdout.split())
    tested = dict(
        re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    )

    def numbers(version):
        return [int(part) for part in re.findall(r"\d+", version.split(".post")[0])]

    assert {"numpy", "scikit-learn", "matplotlib", "gudhi", "polars"} <= set(oldest)
    for name, version in oldest.items():
        assert numbers(version) <= numbers(tested[name]), name
    assert oldest["torch"] == tested["torch"]


# -- the paper about the package ----------------------------------------------------------------

PAPER = ROOT / "docs" / "paper" / "paper.md"


@pytest.mark.skipif(not PAPER.is_file(), reason="the documentation is not here")
def test_paper_cites_shows_and_states_what_is_there():
    text = PAPER.read_text()
    assert len(text.split()) < 1000, "two pages"
    entries = re.findall(r"^@\w+\{(\w+),", (PAPER.parent / "paper.bib").read_text(), flags=re.M)
    assert set(re.findall(r"@(\w+)", text)) == set(entries)
    for picture in re.findall(r"\]\(([^)]+)\)", text):
        assert (PAPER.parent / picture).is_file(), picture
    with (ROOT / "docs" / "results" / "models.csv").open(newline="") as file:
        every = list(csv.DictReader(file))
    wanted = ("dsprites", "btcvae")
    rows = {row["metric"]: row for row in every if (row["data"], row["model"]) == wanted}
    for name, label in (("mig", "MIG"), ("factor_vae", "FactorVAE score")):
        stated = re.search(rf"a\s+{label}\s+of\s+(\S+)\s.*?chance\s+(\d\.\d+)", text, flags=re.S)
        assert stated.groups() == tuple(f"{float(rows[name][c]):.3f}" for c in ("mean", "chance"))
    speed = (ROOT / "docs" / "guide" / "speed.rst").read_text()
    for seconds in re.findall(r"([\d.]+) s\b", text):
        assert f"     - {seconds}\n" in speed, seconds
