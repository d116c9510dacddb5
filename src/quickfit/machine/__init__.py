"""What this machine has: cores, memory, file systems, devices, and whether it is set up to train.

Only what costs nothing to import is here; `devices`, `file_systems` and `setup` are modules of
their own, for the process of a script loads no more of us than it needs.
"""

from quickfit.machine.capacity import free_memory_bytes, usable_cores, whole_cores

__all__ = ["free_memory_bytes", "usable_cores", "whole_cores"]
