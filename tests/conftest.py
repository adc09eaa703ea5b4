"""Settings shared by all tests."""

import gc
import os
import sys
from pathlib import Path

# For what test files share: recording.py.
sys.path.insert(0, str(Path(__file__).parent))
# One thread each: on a busy 2-core machine more threads are up to eight times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# scikit-learn skips its array API check without it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")


def pytest_collection_finish(session):
    # Modules and tests stay to the end: the garbage collector need not go through them each time.
    gc.collect()
    gc.freeze()
