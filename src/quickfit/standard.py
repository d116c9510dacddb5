"""The standard library as quickfit has it, apart from the one the script gets.

Probes are started before the script and need modules that the script may have files of its own
for: a `json.py` beside it, a `queue.py` in a folder that it puts on `sys.path`. So what was loaded
for quickfit is taken out of `sys.modules` again, which then is as Python leaves it. When the script
imports such a module, and Python would find the same file now, it is given the one that exists;
otherwise Python loads the script's own, and quickfit keeps the other.

This module may import nothing but `sys`, not even `__future__`: it is the first one of quickfit's
in a script's process.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_STANDARD = sys.modules["os"].__file__.rpartition("os.py")[0]  # type: ignore[union-attr]
# Python lists compiled modules when it crashes.
_COMPILED = "quickfit.probes._frames"
# Where the classes of `_collections_abc` say that they are from.
_NOT_AN_ORIGIN = "collections.abc"
_THIRD_PARTY = ("site-packages", "dist-packages")
_Module = type(sys)
_Spec: "Any" = sys.modules["_frozen_importlib"].ModuleSpec
# Everything that was loaded for quickfit before the script began, by name.
_loaded: dict[str, "Any"] = {}  # a module, or what a module put in the place of one
# Those of them that the script has not been given.
_hidden: set[str] = set()


def standard(name: str) -> "Any":  # a module, whose attributes are as its documentation says
    """Return a module of the standard library, whatever the script calls its own files.

    Raises:
        ImportError: the script has one of this name, and Python's was not loaded before.
    """
    if name in _loaded:
        return _loaded[name]
    module = sys.modules.get(name)
    spec = _find(name) if module is None else getattr(module, "__spec__", None)
    if not _is_standard(getattr(spec, "origin", None)):
        raise ImportError(f"`{name}` is a module of the script's own here", name=name)
    __import__(name)
    return sys.modules[name]


def is_standard_folder(entry: str) -> bool:
    """Tell whether an entry of `sys.path` holds the standard library and nothing else."""
    is_archive = entry.endswith(f"python{sys.version_info[0]}{sys.version_info[1]}.zip")
    return f"{entry}/" == _STANDARD or entry.endswith("lib-dynload") or is_archive


def _is_standard(origin: str | None) -> bool:
    if origin is None or origin in ("built-in", "frozen"):
        return origin is not None
    return origin.startswith(_STANDARD) and not any(name in origin for name in _THIRD_PARTY)


class Loading:
    """While it is entered, modules are loaded for quickfit: from Python's own folders alone.

    Args:
        before: the names of the modules that Python has loaded by itself.
        hides: they are taken out of `sys.modules` again. Not in a trial: its guards are set on
            modules, and a script must not get others.
    """

    def __init__(self, before: "Collection[str]", *, hides: bool) -> None:
        self._before, self._hides = before, hides
        self._path: list[str] = []
        self._importers = _Importers()

    def __enter__(self) -> None:
        self._path = sys.path[:]
        sys.path[:] = filter(is_standard_folder, sys.path)
        sys.meta_path.insert(0, self._importers)

    def __exit__(self, *error: object) -> None:
        sys.path[:] = self._path
        sys.meta_path.remove(self._importers)
        if not self._hides:
            return
        for name in [*sys.modules]:
            is_ours = name.partition(".")[0] == "quickfit" and name != _COMPILED
            if name not in self._before and not is_ours:
                _loaded[name] = sys.modules.pop(name)
                _hidden.add(name)
        sys.meta_path.insert(0, _HiddenModules(self._importers.imported))


class _Importers:
    """Finds nothing; notes which module imports which for the first time."""

    def __init__(self) -> None:
        self.imported: dict[str, set[str]] = {}

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        frame = sys._getframe(1)
        # A function may import too; what calls it is the code of a module that is being loaded.
        while frame.f_code.co_name != "<module>" and frame.f_back is not None:
            frame = frame.f_back
        self.imported.setdefault(frame.f_globals.get("__name__", ""), set()).add(name)


class _HiddenModules:
    """A finder that gives the script a module of `_hidden` where Python would find the same.

    Args:
        imported: by module, what it was the first one to import.
    """

    def __init__(self, imported: dict[str, set[str]]) -> None:
        self._imported = imported
        self._found_by_import = {name for names in imported.values() for name in names}

    def find_spec(
        self, name: str, path: "Sequence[str] | None", target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        """Hand out a hidden module with all that its import would have loaded, or nothing."""
        if name not in _hidden:
            return None
        needed = self._needed_by(name)
        if not all(map(_is_found_the_same, {part.partition(".")[0] for part in needed})):
            return None  # the script has a module of its own among them
        for part in _loaded:  # in the order in which they were loaded
            if part in needed and part in _hidden and part != name:
                sys.modules[part] = _loaded[part]
        _hidden.difference_update(needed)
        module = _loaded[name]
        spec = _Spec(name, _Handing(module), origin=getattr(module, "__file__", None))
        spec.submodule_search_locations = getattr(module, "__path__", None)
        return spec  # type: ignore[no-any-return]

    def _needed_by(self, name: str) -> set[str]:
        """Return a module and everything that importing it loads, as far as quickfit loaded it."""
        needed: set[str] = set()
        waiting = {name, name.partition(".")[0]}
        while waiting:
            part = waiting.pop()
            needed.add(part)
            more = self._imported.get(part, set()) | set(self._used_by(part))
            waiting |= more & _loaded.keys() - needed
        return needed

    def _used_by(self, name: str) -> "Iterator[str]":
        module = _loaded.get(name)  # none for a package that Python had loaded before
        if not isinstance(module, _Module):
            return
        for key, value in vars(module).items():
            part = f"{name}.{key}"
            if _loaded.get(part) is value:
                # Python names a submodule in its package, whoever has imported it.
                if part not in self._found_by_import:
                    yield part
            elif isinstance(value, _Module):
                public = str(getattr(value, "__name__", ""))
                if _loaded.get(public) is value:  # `_collections_abc` has another name
                    yield public
            elif isinstance(origin := getattr(value, "__module__", None), str):
                # What is written in C may give its public place: `_weakref.ref` is `weakref`'s.
                is_python = hasattr(value, "__code__") or "__dict__" in getattr(
                    value, "__dict__", ()
                )
                file = getattr(_loaded.get(origin), "__file__", None) or ""
                if origin != _NOT_AN_ORIGIN and (is_python or not file.endswith(".py")):
                    yield origin


class _Handing:
    """A loader of a module that exists."""

    def __init__(self, module: "Any") -> None:
        self._module = module
        self._spec = getattr(module, "__spec__", None)

    def create_module(self, spec: object) -> "Any":
        return self._module

    def exec_module(self, module: "Any") -> None:
        if self._spec is not None:
            module.__spec__ = self._spec


def _find(name: str) -> "ModuleSpec | None":
    """Return where Python would find a module now."""
    for finder in [*sys.meta_path]:
        find: Any = getattr(finder, "find_spec", None)
        if find is not None and not isinstance(finder, _HiddenModules):
            spec: ModuleSpec | None = find(name, None)
            if spec is not None:
                return spec
    return None


def _is_found_the_same(name: str) -> bool:
    ours = _loaded.get(name)
    if name in sys.modules:
        return ours is None or sys.modules[name] is ours
    spec, known = _find(name), getattr(ours, "__spec__", None)
    return spec is not None and known is not None and spec.origin == known.origin
