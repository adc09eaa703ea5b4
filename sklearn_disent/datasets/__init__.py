"""Data sets: rendered on the spot, or read from their real files."""

from ._dsprites import make_dsprites
from ._synthetic import make_dependent_factors, make_logical_codes

__all__ = ["make_dsprites", "make_dependent_factors", "make_logical_codes"]
