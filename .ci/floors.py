"""Print the oldest declared version of every dependency, as a constraints file for pip.

    python .ci/floors.py [extra]

Reads the ``>=`` of pyproject.toml: the dependencies, and what an extra (``test``) installs.
"""

import os
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def floors(project, extra="test"):
    """Oldest versions by name, of the dependencies and of an extra with the extras it names."""
    found = {}
    todo = [*project["dependencies"], *project["optional-dependencies"][extra]]
    while todo:
        line = todo.pop()
        own = re.fullmatch(rf"{project['name']}\[(.*)\]", line)
        if own:
            for name in own.group(1).split(","):
                todo += project["optional-dependencies"][name]
            continue
        pin = re.fullmatch(r"([\w.-]+)>=([\w.]+)", line.split(";")[0].strip())
        if not pin:
            raise SystemExit(f"{line!r} in pyproject.toml has no oldest version: write name>=1.0.")
        found[pin.group(1)] = pin.group(2)
    return found


def tested(name):
    """Version of one package in constraints.txt."""
    return re.search(rf"^{name}==(\S+)", (ROOT / "constraints.txt").read_text(), re.M).group(1)


if __name__ == "__main__":
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest = floors(project, *sys.argv[1:])
    # Old builds of torch bring gigabytes of GPU libraries: the tested version, unless asked for.
    # Its declared bound is argued, not tested: the newest thing asked for is Adam with fused=True
    # on a CPU, of torch 2.4; exports to ONNX ask for dynamo=True, of torch 2.5.
    oldest["torch"] = os.environ.get("FLOORS_TORCH") or tested("torch")
    for name in sorted(oldest, key=str.lower):
        print(f"{name}=={oldest[name]}")
