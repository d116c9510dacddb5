"""Starts quickfit's probes in a Python process whose PYTHONPATH holds this folder.

`site` imports this before the script. It must never harm the process: it takes itself off
`sys.path`, starts the probes, and then behaves as the `sitecustomize` that would have been
imported without it, or as none. Any Python may inherit the variable, so the syntax is the
oldest that works everywhere.
"""


def _leave_path(here):
    import os
    import sys

    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]


def _boot(here):
    import os
    import sys

    role = os.environ.pop("QUICKFIT_ROLE", "descendant")
    if "QUICKFIT_RUN" not in os.environ or sys.version_info < (3, 11):
        return
    try:
        _load_quickfit(os.path.dirname(os.path.dirname(here)))
        from quickfit.launch.child import boot

        boot(role)
    except Exception as error:  # noqa: BLE001 - anything: the user's process comes first
        text = "quickfit: not watching process %d (%s: %s)\n"
        sys.stderr.write(text % (os.getpid(), type(error).__name__, error))


def _load_quickfit(package):
    """Import the quickfit this file belongs to, whatever `sys.path` says, and leave it alone."""
    import os
    import sys
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    if "quickfit" in sys.modules:
        return
    spec = PathFinder.find_spec("quickfit", [os.path.dirname(package)])
    module = module_from_spec(spec)
    sys.modules["quickfit"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["quickfit"]
        raise


def _become_the_users():
    """Load the next `sitecustomize` in our place; `site` treats its errors as ever."""
    import sys
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        # What `site` gets, and silently accepts, where there is no such module.
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _main():
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    _leave_path(here)
    _boot(here)
    _become_the_users()


_main()
