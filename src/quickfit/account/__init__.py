"""Where the time and the memory of a run went: one tree of each that adds up."""

from quickfit.account.memory import memory_account, memory_course
from quickfit.account.time_account import loop_account, time_account

__all__ = ["loop_account", "memory_account", "memory_course", "time_account"]
