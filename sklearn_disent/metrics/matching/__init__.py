"""Scores that match codes to factors, one to one."""

from ._classes import lms_score, msas_score, msgs_score
from ._mcc import dictionary_similarity, mcc_score
from ._snc import nk_score, snc_score
from ._tmex import tmex_error

__all__ = [
    "mcc_score",
    "dictionary_similarity",
    "snc_score",
    "nk_score",
    "lms_score",
    "msas_score",
    "msgs_score",
    "tmex_error",
]
