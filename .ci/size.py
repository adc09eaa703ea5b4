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


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "sklearn_disent")
