"""Formulas as MathML, which browsers draw by themselves: no script, no other server."""

import re

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml


def to_mathml(tex: str, *, as_block: bool) -> str:
    """MathML of a formula in LaTeX. Parentheses of MathML grow by themselves."""
    tex = re.sub(r"\\[bB]igg?[lr]?(?![a-zA-Z])", "", tex).replace(r"\dots", r"\ldots")
    return tex2mathml(tex, as_block=as_block)


def visit_math(self, node):
    """Called by Sphinx for a formula in the text."""
    self.body.append(to_mathml(node.astext(), as_block=False))
    raise SkipNode


def visit_displaymath(self, node):
    """Called by Sphinx for a formula of its own."""
    self.body.append(f'<div class="math">{to_mathml(node.astext().strip(), as_block=True)}</div>')
    raise SkipNode


def setup(app):
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True}
