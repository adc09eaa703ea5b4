"""Data sets: rendered on the spot, or read from their real files."""

from .._lazy import LazyRows
from ._candle import load_candle, load_candle_design
from ._candle_like import make_candle_like, render_candle_like
from ._celeba import load_celeba
from ._chairs3d import load_chairs3d
from ._digits import make_transformed_digits
from ._dsprites import make_dsprites
from ._encoded import make_encoded_factors
from ._faces3d import make_faces3d_like
from ._fetch import fetch_dsprites, fetch_mpi3d, fetch_shapes3d
from ._fetch_photos import fetch_cars3d, fetch_smallnorb
from ._flow import make_flow
from ._image_folder import load_image_folder
from ._load import load_cars3d, load_dsprites, load_mpi3d, load_shapes3d, load_smallnorb
from ._nonlinear_ica import make_nonlinear_ica
from ._pendulum import make_pendulum
from ._segments import regions_from_segments
from ._shapes3d import make_shapes3d
from ._superposition import make_superposition
from ._synthetic import make_dependent_factors, make_logical_codes
from ._transitions import make_transitions
from ._xysquares import make_xysquares

__all__ = [
    "make_dsprites",
    "make_shapes3d",
    "make_faces3d_like",
    "make_candle_like",
    "render_candle_like",
    "make_transformed_digits",
    "make_xysquares",
    "make_pendulum",
    "make_flow",
    "make_dependent_factors",
    "make_encoded_factors",
    "make_logical_codes",
    "make_nonlinear_ica",
    "make_superposition",
    "make_transitions",
    "fetch_dsprites",
    "fetch_shapes3d",
    "fetch_mpi3d",
    "fetch_cars3d",
    "fetch_smallnorb",
    "load_dsprites",
    "load_shapes3d",
    "load_mpi3d",
    "load_cars3d",
    "load_smallnorb",
    "load_chairs3d",
    "load_celeba",
    "load_candle",
    "load_candle_design",
    "LazyRows",
    "regions_from_segments",
    "load_image_folder",
]
