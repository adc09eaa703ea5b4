"""The fuzzer is a script as well: its folder goes on the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
