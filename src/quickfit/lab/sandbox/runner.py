"""Runs the user's script as Python would, with edited text where the trial has some.

    python runner.py

It is started instead of the script; what to run is in the file that the trial's variable names.
"""

import io
import os
import runpy
import sys
import types


def main() -> None:
    """Run the script or module of this trial as `__main__`."""
    from quickfit.lab.sandbox.spec import VARIABLE, read

    spec = read(os.environ[VARIABLE])
    sys.argv = [spec.script or spec.module, *spec.args]
    if spec.module:
        sys.path[0] = os.getcwd()
        runpy.run_module(spec.module, run_name="__main__", alter_sys=True)
        return
    sys.path[0] = os.path.dirname(os.path.realpath(spec.script))
    with io.open_code(os.path.abspath(spec.script)) as file:
        code = compile(file.read(), spec.script, "exec", dont_inherit=True)
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=spec.script, __builtins__=__builtins__, __spec__=None)
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


if __name__ == "__main__":
    main()
