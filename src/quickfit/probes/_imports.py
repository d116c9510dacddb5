"""Runs a patch right after a library module was imported, whoever imports it and when.

Costs nothing before TensorFlow is imported, and never imports anything itself.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from quickfit.probes import _private
from quickfit.probes._guard import guarded
from quickfit.probes._state import Current

if TYPE_CHECKING:
    # `importlib.abc` would load a dozen modules that a script may have named its own files after.
    from importlib.machinery import ModuleSpec

Patch = Callable[[ModuleType], None]
_IMPORT_FRAMES = "<frozen importlib._bootstrap_external>"


def patching(name: str, patch: Callable[[ModuleType], None]) -> Patch:
    """Return `patch` guarded by the probe of that name, which notes that its hook is in place.

    Where a private name has moved, nothing is patched and the probe is off.
    """

    def apply(module: ModuleType) -> None:
        state = Current.state
        if state is None:
            return
        probe = state.probes[name]
        hooks = _private.hooks_of(name, module)
        state.hooks.update(((hook.probe, hook.name), hook) for hook in hooks)
        moved = [hook for hook in hooks if hook.state == "missing"]
        if moved:
            probe.turn_off("missing", "; ".join(f"{hook.name}: {hook.detail}" for hook in moved))
            return
        guarded(probe, patch)(module)
        if not probe.is_off:
            probe.mark_active(module.__name__)

    return apply


class AfterImport:
    """A `sys.meta_path` finder that finds nothing itself; it only adds patches to what is found."""

    def __init__(self, patches: dict[str, list[Patch]]) -> None:
        self.patches = patches

    def install(self) -> None:
        """Come first in line; patch at once what is already imported."""
        for name, patches in self.patches.items():
            if name in sys.modules:
                for patch in patches:
                    patch(sys.modules[name])
        sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Let the other finders answer; wrap the loader of a module we have a patch for."""
        patches = self.patches.get(name)
        if patches is None:
            return None
        spec = self._ask_others(name, path, target)
        loader: Any = spec.loader if spec is not None else None
        if loader is not None and hasattr(loader, "exec_module"):
            with contextlib.suppress(AttributeError, TypeError):  # a loader that takes no attribute
                _patch_after_exec(loader, name, patches)
        return spec

    def _ask_others(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: ModuleSpec | None = find(name, path, target)
            if spec is not None:
                return spec
        return None


def _patch_after_exec(loader: Any, name: str, patches: list[Patch]) -> None:
    original = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        original(module)
        if module.__name__ != name:
            return  # one loader may serve many modules
        for patch in patches:
            patch(module)

    # Python leaves its own import frames out of a traceback; this one goes with them.
    exec_module.__code__ = exec_module.__code__.replace(co_filename=_IMPORT_FRAMES)
    loader.exec_module = exec_module
