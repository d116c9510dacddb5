"""Runs the scripts named on the command line one after the other in one process.

    several.py STEPS NAME NAME…

TensorFlow takes seconds to start; what each script does is the same as when it runs alone.
"""

import runpy
import sys
from pathlib import Path

steps, names = sys.argv[1], sys.argv[2:]


def run(name: str) -> None:
    """Run one script as if it had been started by itself."""
    path = str(Path(__file__).with_name(f"{name}.py"))
    sys.argv = [path, steps]
    runpy.run_path(path, run_name="__main__")


# Not a `for`: the scripts would then lie inside a loop that is none of theirs.
list(map(run, names))
