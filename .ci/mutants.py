"""How many random mutants of the package do the default tests of their room kill?

    python .ci/mutants.py --n 200                   # prints each mutant, and the share killed
    python .ci/mutants.py --n 200 --state m.json    # in pieces: goes on where it was
    python .ci/mutants.py --at metrics/_numeric.py:24   # all mutants of one line
    python .ci/mutants.py --record map.json         # which test runs which line, once
    python .ci/mutants.py --n 200 --map map.json    # only tests that run the changed line: faster

A mutant is one small change: a comparison, an operator, a number, a condition, a call
left out. It is killed if a test fails. Where tests do not come to an end within their processor
time it is listed as hung, and does not count as killed. Each runs in a process forked from one that
has the large packages loaded, and is imported in place of the real module: no file is changed.
Docstrings, annotations, messages of errors and code that only type checkers see have no mutants,
nor have sizes of the pieces in which work is done, constants of a module that are named CHUNK or
BLOCK: they change memory and speed alone. Tests that start processes of their own do not see
mutants. A map needs the package coverage, and the tree it was recorded of; lines that run on import
alone get all tests of their room's files, and that of the docstrings, which state all defaults.
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import json
import os
import random
import re
import resource
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sklearn_disent"
ROOMS = ("metrics", "models/terms", "datasets", "model_selection", "logic")
SECONDS = 150  # of processor time, that the tests of one mutant may take
N_QUICK = 40
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:doctest", "-o", "addopts="]
OPTIONS += ["-m", "not slow", "--import-mode=importlib", "--rootdir", str(ROOT)]
WAIT = 1800  # seconds by the clock: other processes may be busy, but a test may also just sleep
SEED = 17

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}  # fmt: skip


class Mutant(NamedTuple):
    path: str
    """Below the package."""
    line: int
    change: str
    index: int
    """Which of the mutants of its file."""


# -- making mutants --------------------------------------------------------------------------


def changes(tree: ast.Module) -> Iterator[tuple[ast.AST, str, Any]]:
    """All (node, what is changed, the function that changes it) of a module."""
    for node in _code(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
            new = COMPARISONS[type(node.ops[0])]
            yield node, f"{type(node.ops[0]).__name__} -> {new.__name__}", _set_comparison(new)
        elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
            new = OPERATORS[type(node.op)]
            yield node, f"{type(node.op).__name__} -> {new.__name__}", _setter("op", new())
        elif isinstance(node, ast.BoolOp):
            new = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield node, f"-> {type(new).__name__}", _setter("op", new)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, bool):
                yield node, f"{node.value} -> {not node.value}", _setter("value", not node.value)
            elif isinstance(node.value, int | float):
                yield node, f"{node.value} -> {node.value + 1}", _setter("value", node.value + 1)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield node, "-x -> +x", _setter("op", ast.UAdd())
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            yield node, "condition negated", _negate
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node, "call left out", _setter("value", ast.Constant(None))


def _code(tree: ast.Module) -> Iterator[ast.AST]:
    """Nodes that run, in the order of the file."""
    queue: list[ast.AST] = list(tree.body)
    while queue:
        node = queue.pop(0)
        if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Call) and _name(node.func) in ("warn", "warn_degenerate", "_warn"):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        if isinstance(node, ast.Assign) and re.match(r"_?(CHUNK|BLOCK)", _name(node.targets[0])):
            continue  # a size of pieces
        yield node
        skipped = {"annotation", "returns", "decorator_list", "type_params"}
        children = []
        for field, value in ast.iter_fields(node):
            if field not in skipped:
                values = value if isinstance(value, list) else [value]
                children += [child for child in values if isinstance(child, ast.AST)]
        queue = children + queue


def _name(function: ast.AST) -> str:
    return getattr(function, "id", getattr(function, "attr", ""))


def _setter(field: str, value: Any) -> Any:
    return lambda node: setattr(node, field, value)


def _set_comparison(new: type) -> Any:
    return lambda node: node.ops.__setitem__(0, new())


def _negate(node: Any) -> None:
    node.test = ast.UnaryOp(ast.Not(), node.test)


def mutants_of(path: Path) -> list[Mutant]:
    """All mutants of one file."""
    name = path.relative_to(PACKAGE).as_posix()
    found = changes(ast.parse(path.read_text()))
    return [Mutant(name, node.lineno, text, i) for i, (node, text, _) in enumerate(found)]


def source_of(mutant: Mutant) -> str:
    """The module with one change."""
    tree = ast.parse((PACKAGE / mutant.path).read_text())
    for index, (node, _, change) in enumerate(changes(tree)):
        if index == mutant.index:
            change(node)
            return ast.unparse(ast.fix_missing_locations(copy.deepcopy(tree)))
    raise ValueError(mutant)


def draw(n: int, rooms: tuple[str, ...], seed: int) -> list[Mutant]:
    """Mutants at random, every one as likely as any other."""
    paths = sorted(path for room in rooms for path in (PACKAGE / room).rglob("*.py"))
    every = [mutant for path in paths for mutant in mutants_of(path)]
    return random.Random(seed).sample(every, min(n, len(every)))


# -- running them ----------------------------------------------------------------------------


def record(target: Path) -> None:
    """Write which tests of the rooms run which lines, and how long each takes."""
    import coverage
    import pytest

    paths = [path for room in ROOMS for path in (PACKAGE / room).rglob("*.py")]
    files = sorted(
        {
            file
            for p in paths
            for file in tests_of(p.relative_to(PACKAGE).as_posix(), docstrings=False)
        }
    )
    cover = coverage.Coverage(source=[str(PACKAGE / room) for room in ROOMS], data_file=None)
    seconds: dict[str, float] = {}

    class Plugin:
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(self, item: Any) -> Any:
            cover.switch_context(item.nodeid)
            begin = time.process_time()
            result = yield
            seconds[item.nodeid] = time.process_time() - begin
            cover.switch_context("")
            return result

    cover.start()
    pytest.main([*OPTIONS, *files], plugins=[Plugin()])
    cover.stop()
    names = list(seconds)
    number = {name: i for i, name in enumerate(names)}
    lines = {}
    for file in cover.get_data().measured_files():
        found = cover.get_data().contexts_by_lineno(file)
        lines[Path(file).relative_to(PACKAGE).as_posix()] = {
            line: [number[test] for test in tests if test] for line, tests in found.items()
        }
    target.write_text(json.dumps({"tests": names, "seconds": seconds, "lines": lines}))


def runs_on_import(mutant: Mutant) -> bool:
    """Whether what is changed is outside of all bodies of functions: tables, defaults."""
    tree = ast.parse((PACKAGE / mutant.path).read_text())
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda))
    bodies = [f.body if isinstance(f, ast.FunctionDef) else [f.body] for f in functions]
    inside = {id(node) for body in bodies for part in body for node in ast.walk(part)}
    changed = next(node for i, (node, _, _) in enumerate(changes(tree)) if i == mutant.index)
    return id(changed) not in inside


def covering(mutant: Mutant, found: dict[str, Any]) -> list[str]:
    """Tests that run the line of a mutant, quick ones first; none if it runs on import alone."""
    if runs_on_import(mutant):
        return []
    lines = found["lines"].get(mutant.path, {})
    # A statement of several lines may be known by its first.
    near = [str(line) for line in range(mutant.line, max(mutant.line - 6, 0), -1)]
    numbers = next((lines[line] for line in near if lines.get(line)), [])
    return sorted((found["tests"][i] for i in numbers), key=found["seconds"].__getitem__)


def tests_of(path: str, *, docstrings: bool) -> list[str]:
    """Test files of the room that mention the module or a public name of it, small ones first."""
    source = PACKAGE / path
    names = [
        node.name
        for node in ast.parse(source.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]
    words = [*names, rf"(?<!\w){source.stem}\b", rf"test_{source.stem.strip('_')}"]
    room = ROOT / "tests" / path.split("/")[0]
    own = room.joinpath(*path.split("/")[1:-1])
    files = sorted(room.rglob("test_*.py"), key=lambda file: file.stat().st_size)
    pattern = re.compile("|".join(words))
    chosen = [f for f in files if pattern.search(f.read_text() + f.name) or f.parent == own != room]
    first = [f for f in chosen if f.stem == f"test_{source.stem.strip('_')}"]
    first += [ROOT / "tests" / "test_docstrings.py"] if docstrings else []
    # Values that were recorded, which whatever a room computes goes into; golden ones take long.
    cheap = [f for f in files if f.name in ("test_pixels.py", "test_recorded.py")]
    golden = [f for f in files if f.name == "test_golden.py"]
    rest = [f for f in chosen or files if f not in golden]
    return [str(f) for f in dict.fromkeys([*first, *cheap, *rest, *golden])]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Imports one module from changed source."""

    def __init__(self, mutant: Mutant, source: str) -> None:
        parts = ["sklearn_disent", *Path(mutant.path).with_suffix("").parts]
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.path, self.source = str(PACKAGE / mutant.path), source

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self.name:
            return None
        is_package = [str(Path(self.path).parent)] if self.path.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(
            fullname, self.path, loader=self, submodule_search_locations=is_package
        )

    def get_filename(self, fullname: str) -> str:
        return self.path

    def get_data(self, path: str) -> bytes:
        return self.source.encode()


def preload() -> None:
    """What takes seconds to import and starts no threads."""
    import hypothesis  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import pandas  # noqa: F401
    import pytest  # noqa: F401
    import sklearn.ensemble
    import sklearn.linear_model
    import sklearn.model_selection  # noqa: F401
    import skorch  # noqa: F401
    import torch

    torch.set_num_threads(1)


def fate(mutant: Mutant, tests: list[str]) -> str:
    """ "killed" if a test fails with the mutant in place, "SURVIVED" if none does, or "hung"."""
    source = source_of(mutant)
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        code = 1
        try:
            code = _run_tests(mutant, source, tests)
        finally:
            os._exit(code)
    begin = time.monotonic()
    while time.monotonic() - begin < WAIT:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            if code in (-signal.SIGKILL, -signal.SIGXCPU):
                return "hung"
            return "killed" if code else "SURVIVED"
        time.sleep(0.1)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hung"


class _Chosen:
    """Keeps the chosen tests of a run, in their order."""

    def __init__(self, tests: list[str]) -> None:
        self.order = {test: i for i, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        kept = [item for item in items if item.nodeid in self.order]
        items[:] = sorted(kept, key=lambda item: self.order[item.nodeid])


def _run_tests(mutant: Mutant, source: str, tests: list[str]) -> int:
    """First the quickest tests, whose few files are read soon, then all."""

    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.path.insert(0, str(ROOT))
    sys.meta_path.insert(0, _Finder(mutant, source))
    return next(filter(None, (_run(part) for part in (tests[:N_QUICK], tests[N_QUICK:]))), 0)


def _run(tests: list[str]) -> int:
    """Exit code of pytest for files, or for tests by their names."""
    import pytest

    if not tests:
        return 0
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    plugins = [_Chosen(tests)] if "::" in tests[0] else []
    return int(pytest.main(["-x", *OPTIONS, *files], plugins=plugins))


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--room", choices=ROOMS, action="append")
    parser.add_argument("--at", nargs="+", help="file:line below the package")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of processor time")
    parser.add_argument("--state", type=Path)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--map", type=Path)
    arguments = parser.parse_args()
    os.chdir(ROOT)
    if arguments.record:
        return record(arguments.record)
    known = json.loads(arguments.map.read_text()) if arguments.map else {"lines": {}}
    if arguments.at:
        places = [place.partition(":") for place in arguments.at]
        chosen = [
            mutant
            for name, _, line in places
            for mutant in mutants_of(PACKAGE / name)
            if not line or mutant.line == int(line)
        ]
    else:
        chosen = draw(arguments.n, tuple(arguments.room or ROOMS), arguments.seed)
    done: dict[str, str] = {}
    if arguments.state and arguments.state.exists():
        done = json.loads(arguments.state.read_text())
    preload()
    for mutant in chosen:
        key = f"{mutant.path}:{mutant.line} {mutant.change} #{mutant.index}"
        if key not in done:
            if _processor_time() > arguments.seconds:
                break
            tests = covering(mutant, known)
            tests = tests or tests_of(mutant.path, docstrings=runs_on_import(mutant))
            done[key] = fate(mutant, tests)
            if arguments.state:
                arguments.state.write_text(json.dumps(done, indent=1))
        print(f"{done[key]:8s} {key}", flush=True)
    n_killed = sum(end == "killed" for end in done.values())
    print(f"{n_killed} of {len(done)} mutants killed, {n_killed / max(len(done), 1):.0%}")


if __name__ == "__main__":
    main()
