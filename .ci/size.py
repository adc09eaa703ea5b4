"""Print how large the package is, to compare before and after a change.

    python .ci/size.py [folder]

Lines of code are those with code on them: docstrings, comments and blank lines do not count.
"""

import ast
import io
import re
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
SILENT |= {tokenize.ENCODING, tokenize.ENDMARKER}
SCOPES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def span(node):
    """Numbers of the lines of a node."""
    return set(range(node.lineno, node.end_lineno + 1))


def code_lines(text):
    """Numbers of the lines with code, and the tree."""
    tree = ast.parse(text)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {
        line
        for token in tokens
        if token.type not in SILENT
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(tree):
        if isinstance(node, SCOPES) and ast.get_docstring(node, clean=False) is not None:
            lines -= span(node.body[0])
    return lines, tree


def stores(node):
    """Whether a statement of ``__init__`` only stores a parameter: ``self.beta = beta``."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.targets[0].attr == node.value.id
    )


def without_parameters(text):
    """The text with empty lines for imports, docstrings and all that states parameters.

    These are signatures with their decorators, annotated fields of classes, and the statements of
    ``__init__`` that store.
    """
    lines, tree = code_lines(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            lines -= set(range(first, node.body[0].lineno))
            if node.name == "__init__":
                lines -= set().union(*(span(item) for item in node.body if stores(item)))
        elif isinstance(node, ast.ClassDef):
            fields = (item for item in node.body if isinstance(item, ast.AnnAssign))
            lines -= set().union(*map(span, fields))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            lines -= span(node)
    numbered = enumerate(text.split("\n"), 1)
    return "\n".join(line if number in lines else "" for number, line in numbered)


def duplicates(folder):
    """How many pairs of places share lines, where the command that counts them is there."""
    if not shutil.which("duplicates"):
        return "the command is not here"
    run = subprocess.run(
        ["duplicates", "--repo", folder, "--most", "1", "--seconds", "120"],
        capture_output=True,
        text=True,
    )
    return run.stdout.split("\n")[0]


def duplicates_of_logic(folder):
    """The same without imports, docstrings and parameters."""
    with tempfile.TemporaryDirectory() as copy:
        for path in folder.rglob("*.py"):
            target = Path(copy) / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(without_parameters(path.read_text()))
        return duplicates(copy)


def main(folder):
    """Count and print."""
    rooms, modules, functions = Counter(), Counter(), Counter()
    total = 0
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text()
        lines, tree = code_lines(text)
        name = path.relative_to(folder)
        total += len(text.splitlines())
        modules[str(name)] = len(lines)
        rooms[name.parts[0] if len(name.parts) > 1 else "."] += len(lines)
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                functions[f"{name}:{node.lineno} {node.name}"] = len(lines & span(node))
    print(f"{len(modules)} modules, {total} lines, {modules.total()} lines of code")
    for title, counts, most in [
        ("lines of code by room", rooms, None),
        ("largest modules", modules, 10),
        ("largest functions", functions, 10),
    ]:
        print(f"\n{title}")
        for name, count in counts.most_common(most):
            print(f"{count:7d}  {name}")
    private = [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*.py"))
        if re.search(r"_param_validation|import _fit_context", path.read_text())
    ]
    print(f"\n{len(private)} modules import scikit-learn's private validation")
    print(f"duplicates: {duplicates(folder)}")
    print(f"without docstrings and parameters: {duplicates_of_logic(folder)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "sklearn_disent")
