"""The source distribution and the wheel: they build, install and work without a network."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import sklearn_disent

ROOT = Path(__file__).parents[1]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="the source is not here"),
]


def hatchling(source, target, out):
    pytest.importorskip("hatchling", reason="hatchling, which builds the package, is not installed")
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", out]
    subprocess.run(command, cwd=source, check=True, timeout=300, capture_output=True)
    (built,) = Path(out).iterdir()
    return built


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return hatchling(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    # Built from the source distribution, as an installer without a wheel does.
    unpacked = tmp_path_factory.mktemp("source")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    (source,) = unpacked.iterdir()
    return hatchling(source, "wheel", tmp_path_factory.mktemp("wheel"))


def test_sdist_holds_the_tests_and_all_that_readme_links_to(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"pyproject.toml", "constraints.txt", "tests/conftest.py"} <= names
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text())
    assert links
    for link in links:
        assert any(name.startswith(link) for name in names), link


def test_wheel_holds_the_package_its_types_and_nothing_else(wheel):
    version = sklearn_disent.__version__
    assert wheel.name == f"sklearn_disent-{version}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    assert "sklearn_disent/py.typed" in names
    assert {name.split("/")[0] for name in names} == {
        "sklearn_disent",
        f"sklearn_disent-{version}.dist-info",
    }
    packed = {name for name in names if name.endswith(".py")}
    assert packed == {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "sklearn_disent").rglob("*.py")
    }
    assert not [name for name in names if "/tests/" in name or "__pycache__" in name]


def test_wheel_installs_and_works_offline(wheel, tmp_path):
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--target", site, wheel], check=True, timeout=300)
    code = (
        "import sys, sklearn_disent; from sklearn_disent.metrics import mig_score;"
        "print(sklearn_disent.__file__, mig_score([[0], [1]] * 50, [[0.0], [1.0]] * 50))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(site)},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    file, score = run.stdout.split()
    assert Path(file).is_relative_to(site)
    assert float(score) == pytest.approx(1.0)
