"""Print the oldest declared version of every dependency, as a constraints file for pip.

Reads the ``>=`` of pyproject.toml: the dependencies and every extra that ``test`` installs.
"""

import os
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def floors(project, extra="test"):
    """Oldest versions by name, of the dependencies and of an extra with the extras it names."""
    found = {}
    todo, seen = [*project["dependencies"]], set()
    extras = [extra]
    while extras or todo:
        if not todo:
            name = extras.pop()
            if name not in seen:
                seen.add(name)
                todo = [*project["optional-dependencies"][name]]
            continue
        line = todo.pop()
        own = re.fullmatch(rf"{project['name']}\[(.*)\]", line)
        if own:
            extras += own.group(1).split(",")
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
    oldest = floors(project)
    # Old builds of torch bring gigabytes of GPU libraries: the tested version, unless asked for.
    oldest["torch"] = os.environ.get("FLOORS_TORCH") or tested("torch")
    for name in sorted(oldest, key=str.lower):
        print(f"{name}=={oldest[name]}")
