"""Data sets: rendered on the spot, or read from their real files."""

from ._dsprites import make_dsprites

__all__ = ["make_dsprites"]
