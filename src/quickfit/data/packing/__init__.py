"""Packs: images and labels in sharded record files, made by many processes, resumable, verified.

Each name is loaded when it is used: a worker starts with the little that it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.data.packing.manifest import Manifest, ShardFacts, read_manifest
    from quickfit.data.packing.packer import pack
    from quickfit.data.packing.report import Packed
    from quickfit.data.packing.verification import Fault, Verified, verify

__all__ = [
    "Fault",
    "Manifest",
    "Packed",
    "ShardFacts",
    "Verified",
    "pack",
    "read_manifest",
    "verify",
]

_HOMES = {
    "Fault": "verification",
    "Manifest": "manifest",
    "Packed": "report",
    "ShardFacts": "manifest",
    "Verified": "verification",
    "pack": "packer",
    "read_manifest": "manifest",
    "verify": "verification",
}


def __getattr__(name: str) -> Any:  # loaded when it is used
    if name in _HOMES:
        return getattr(import_module(f"quickfit.data.packing.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.data.packing' has no attribute {name!r}")
