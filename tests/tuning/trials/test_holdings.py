"""The memory of a process, looked at from outside."""

import os
import subprocess
import sys

from quickfit.tuning.trials.holdings import Held, Holdings

_CODE = """
from quickfit.tuning.trials import memory
memory.limit_growth(400_000_000)
held = bytearray(300_000_000)
print(flush=True)
input()
"""


def test_one_that_took_most_of_its_limit_is_seen_and_remembered():
    ran = subprocess.Popen(
        [sys.executable, "-c", _CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    ran.stdout.readline()
    holdings = Holdings(ran.pid, 400_000_000)
    holdings.look()
    ran.communicate(b"\n")
    seen = holdings.held
    assert seen.peak_bytes > 300_000_000
    assert 0.7 < seen.limit_share < 0.9
    holdings.look()
    assert holdings.held == seen


def test_without_a_limit_there_is_no_share_of_it():
    holdings = Holdings(os.getpid(), None)
    holdings.look()
    assert holdings.held.peak_bytes > 0
    assert holdings.held.limit_share == 0.0


def test_one_that_is_not_there_holds_nothing():
    holdings = Holdings(2**30, 1000)
    holdings.look()
    assert holdings.held == Held()
