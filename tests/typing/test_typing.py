"""Types: mypy accepts the package and a user's script, and refuses misspelt options."""

import importlib.util
import inspect
import os
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sklearn_disent

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ROOMS = sorted(path.parent.name for path in (ROOT / "sklearn_disent").glob("*/__init__.py"))


def mypy(*arguments):
    """Errors of one run of mypy as (file, line, code)."""
    pytest.importorskip("mypy")
    package = Path(sklearn_disent.__file__).parents[1]
    # The package that the tests import is the one to judge, wherever another one is installed.
    path = {"MYPYPATH": str(package)} if package.name != "site-packages" else {}
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", *arguments],
        cwd=ROOT,
        env=os.environ | path,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr  # 2: mypy could not do its work
    errors = re.findall(r"^(.+?):(\d+): error: .*\[([\w-]+)\]$", run.stdout, flags=re.MULTILINE)
    assert bool(errors) == bool(run.returncode), run.stdout + run.stderr
    return [(Path(file), int(line), code) for file, line, code in errors]


@pytest.fixture(scope="module")
def errors_of_package():
    return mypy("sklearn_disent")


@pytest.mark.slow
@pytest.mark.parametrize("room", ["", *ROOMS])
def test_package_has_types_that_agree(room, errors_of_package):
    folder = Path("sklearn_disent", room)
    wrong = [error for error in errors_of_package if error[0].is_relative_to(folder)]
    if not room:
        wrong = [error for error in wrong if error[0].parent == folder]
    assert not wrong, "\n".join(f"{file}:{line} {code}" for file, line, code in wrong)


# Strict about the script alone, as for a user who has installed the package.
STRICT = ["--strict", "--follow-imports=silent", "--cache-dir=.mypy_cache/strict"]


@pytest.mark.slow
def test_user_script_passes_in_strict_mode():
    assert mypy(*STRICT, HERE / "user_script.py") == []


@pytest.mark.slow
def test_misspelt_options_are_refused():
    script = HERE / "misspelt_script.py"
    marks = [
        (number, match.group(1))
        for number, line in enumerate(script.read_text().split("\n"), start=1)
        if (match := re.search(r"# wrong: ([\w-]+)", line))
    ]
    assert len(marks) > 3
    assert [(line, code) for _, line, code in mypy(*STRICT, script)] == marks


@pytest.mark.slow
def test_readme_passes_in_strict_mode(tmp_path):
    text = (ROOT / "README.md").read_text()
    script = tmp_path / "readme.py"
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    script.write_text("\n".join(blocks) + "\nreveal_type(make_dsprites(5, return_X_y=True))\n")
    assert mypy(*STRICT, script) == []


def public_callables():
    """(name, function or class) of all that users call."""
    for room in ROOMS:
        module = getattr(sklearn_disent, room)
        for name in module.__all__:
            found = getattr(module, name)
            if inspect.isfunction(found) or inspect.isclass(found):
                yield f"{room}.{name}", found
            if inspect.isclass(found) and hasattr(found, "fit"):
                yield f"{room}.{name}.fit", found.fit


def test_help_shows_parameters_and_no_machinery():
    """Annotations that are written out filled a page: ``<Interval object at 0x7f...>``."""
    shown = {name: str(inspect.signature(found)) for name, found in public_callables()}
    assert len(shown) > 100
    long = [name for name, text in shown.items() if re.search("_array_like|Interval object", text)]
    # Displays and networks are made by functions; few people call the classes.
    assert {name.split(".")[0] for name in long} <= {"inspection", "networks"}
    assert shown["metrics.mig_score"].startswith("(factors, codes, *, n_bins=20, strategy='unifo")
    assert shown["models.BetaVAE"].startswith("(n_components=10, *, beta=4.0, guidance=None")
    assert shown["models.BetaVAE.fit"].startswith("(self, X, y=None")


def test_signatures_are_those_of_the_functions():
    """help() shows parameters, not the protocols that type checkers read."""
    from sklearn_disent.datasets import make_dsprites
    from sklearn_disent.metrics import mig_score, minimality_score

    for function, name in [
        (mig_score, "n_bins"),
        (minimality_score, "return_matrix"),
        (make_dsprites, "image_size"),
    ]:
        assert name in inspect.signature(function).parameters
        assert "**options" not in pydoc.render_doc(function)


def test_user_script_runs(capsys, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    spec = importlib.util.spec_from_file_location("user_script", HERE / "user_script.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.main()
    out = capsys.readouterr().out
    assert re.search(r"MIG \d\.\d{3}", out)
    assert "5 factors, 3 codes" in out
