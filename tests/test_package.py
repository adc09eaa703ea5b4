"""The package as a whole: rooms, imports, README, version."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sklearn_disent

ROOT = Path(__file__).parents[1]


def run(code):
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize("room", sorted(set(sklearn_disent.__all__) - {"__version__"}))
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
    assert rooms <= set(sklearn_disent.__all__)


def test_unknown_room_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'attic'"):
        sklearn_disent.attic  # noqa: B018


def test_import_is_lazy():
    run("import sys, sklearn_disent; assert not {'sklearn', 'torch'} & set(sys.modules)")


@pytest.mark.parametrize("room", ["metrics", "datasets", "logic", "model_selection"])
def test_room_without_models_does_not_load_torch(room):
    run(f"import sys, sklearn_disent.{room}; assert not {{'torch', 'skorch'}} & set(sys.modules)")


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
    tomllib = importlib.import_module("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    names = {re.match(r"[\w.-]+", line).group().lower() for line in needed}
    assert names - {"sklearn-disent"} <= pins
