"""What pyproject.toml asks for is what the package imports."""

import ast
import functools
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Names by which packages are imported, where they differ from those by which they are installed.
MODULES = {"scikit-learn": "sklearn", "pillow": "PIL", "POT": "ot", "pyyaml": "yaml"}
# What another package imports on our behalf, and for what.
INDIRECT = {
    "rich": "scikit-learn, in sklearn.callback.ProgressBar",
    "dask": "joblib, in its dask backend",
    "distributed": "joblib, in its dask backend",
}


def names(requirements):
    """Modules of a list of requirements, without our own extras."""
    packages = (re.match(r"[\w.-]+", line).group() for line in requirements)
    return {MODULES.get(name, name) for name in packages if name != "sklearn-disent"}


@functools.cache
def imported(folder):
    """Top-level modules from elsewhere that the code in a folder imports, anywhere in it."""
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module)
            elif isinstance(node, ast.Call):
                name = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
                if name in ("import_extra", "importorskip"):
                    found.add(node.args[0].value)
    modules = {name.split(".")[0] for name in found}
    own = {"sklearn_disent", *(path.stem for path in folder.rglob("*.py"))}
    return modules - own - set(sys.stdlib_module_names)


def test_every_import_is_declared():
    for_users = {name: line for name, line in EXTRAS.items() if name not in ("test", "docs")}
    declared = names(PROJECT["dependencies"]).union(*map(names, for_users.values()))
    missing = imported(ROOT / "sklearn_disent") - declared
    assert not missing, f"add to pyproject.toml: {sorted(missing)}"


def test_every_declared_package_is_imported():
    used = imported(ROOT / "sklearn_disent")
    extras = ("plot", "report", "data", "topology", "dask")
    declared = names(PROJECT["dependencies"]).union(*(names(EXTRAS[name]) for name in extras))
    unused = declared - used - set(INDIRECT)
    assert not unused, f"take out of pyproject.toml: {sorted(unused)}"
    assert set(INDIRECT) <= declared - used


def test_every_import_of_tests_and_benchmarks_is_declared():
    declared = names(PROJECT["dependencies"]).union(*map(names, EXTRAS.values()))
    modules = imported(ROOT / "tests") | imported(ROOT / "benchmarks")
    # Sphinx's extensions are imported under other names than they are installed by.
    missing = {name.replace("_", "-") for name in modules} - declared
    assert not missing, f"add to pyproject.toml: {sorted(missing)}"
    assert "ot" in names(EXTRAS["test"]) & names(EXTRAS["benchmark"])
