"""The package as a whole: rooms, imports, README, version."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sklearn_disent

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


@pytest.mark.parametrize("room", ["metrics", "datasets", "logic", "model_selection"])
def test_room_without_models_does_not_load_torch(room):
    run(f"import sys, sklearn_disent.{room}; assert not {{'torch', 'skorch'}} & set(sys.modules)")


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


def test_matplotlib_loads_only_to_draw():
    code = "import sys, sklearn_disent as s; [getattr(s, n) for n in s.__all__]"
    run(code + "; assert 'matplotlib.pyplot' not in sys.modules")


def readme_blocks(language):
    text = (ROOT / "README.md").read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_readme_code_runs(capsys):
    for block in readme_blocks("python"):
        exec(compile(block, "README.md", "exec"), {})
    assert "MIG" in capsys.readouterr().out


def test_readme_commands_name_what_exists():
    main, tests = (block.strip() for block in readme_blocks("bash"))
    script = main.split("python ")[1]
    assert (ROOT / script).is_file()
    assert tests.endswith("python -m pytest")
    for link in re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / link).exists(), link


def test_constraints_pin_every_dependency():
    pins = re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE)
    pins = {name.lower() for name in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    names = {re.match(r"[\w.-]+", line).group().lower() for line in needed}
    assert names - {"sklearn-disent"} <= pins


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
