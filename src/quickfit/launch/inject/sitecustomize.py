"""Starts quickfit's probes in a Python process whose PYTHONPATH holds this folder.

`site` imports this before the script. It must never harm the process: it takes itself off
`sys.path`, starts the probes, and then behaves as the `sitecustomize` that would have been
imported without it, or as none. Any Python may inherit the variable, so the syntax is the
oldest that works everywhere.
"""

import sys

_BEFORE = set(sys.modules)


def _leave_path(here):
    import os

    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    sys.path_importer_cache.pop(here, None)


def _boot(here):
    import os

    role = os.environ.pop("QUICKFIT_ROLE", "descendant")
    if "QUICKFIT_RUN" not in os.environ or sys.version_info < (3, 11):
        return
    try:
        package = os.path.dirname(os.path.dirname(here))
        standard = _load("quickfit.standard", "standard", package)
        with standard.Loading(_BEFORE, hides="QUICKFIT_TRIAL" not in os.environ):
            _load("quickfit", "quickfit", os.path.dirname(package)).standard = standard
            from quickfit.launch.child import boot

            boot(role)
    except Exception as error:  # noqa: BLE001 - anything: the user's process comes first
        # Quickfit's own home for this may be what could not be imported.
        text = "quickfit: not watching process %d (%s: %s)\n"
        shown = ascii(str(error))[1:-1]
        sys.stderr.write(text % (os.getpid(), type(error).__name__, shown))


def _load(name, file, folder):
    """Import a module of the quickfit this file belongs to, whatever `sys.path` says."""
    if name in sys.modules:
        return sys.modules[name]
    spec = _find(file, [folder])
    spec.name = spec.loader.name = name
    module = sys.modules["_frozen_importlib"].module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _find(name, path=None):
    # Not by `importlib`, which a script may have a file of its own for.
    return sys.modules["_frozen_importlib_external"].PathFinder.find_spec(name, path)


def _become_the_users():
    """Load the next `sitecustomize` in our place; `site` treats its errors as ever."""
    spec = _find("sitecustomize")
    if spec is None or spec.loader is None:
        # What `site` gets, and silently accepts, where there is no such module.
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    module = sys.modules["_frozen_importlib"].module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _main():
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    _leave_path(here)
    _boot(here)
    _become_the_users()


_main()
