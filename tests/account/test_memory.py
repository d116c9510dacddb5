"""The memory account adds up, and names what holds memory."""

import dataclasses
import sys
import tarfile
from pathlib import Path

import pytest

from memory_runs import APPEND_LINE, LOOP, looks, memory_run, rising
from quickfit.account.memory import memory_account
from quickfit.recording.reader import read
from quickfit.signals import Signals

RECORDINGS = Path(__file__).parent.parent / "recordings"
KEPT = sorted(RECORDINGS.glob("*/*.tar.xz"))


def assert_adds_up(nodes, total):
    assert sum(node.bytes for node in nodes) == pytest.approx(total, rel=0.001)
    for node in nodes:
        assert node.bytes >= 0
        assert 0 <= node.share <= 1
        if node.parts:
            assert_adds_up(node.parts, node.bytes)


def account_of(**given):
    held = looks(rising(5e7), name="losses", content="tensors")
    signals = memory_run(**{"source": LOOP, "rss": rising(5e7, 6e8), "holders": held, **given})
    return memory_account(signals)


def test_what_a_name_holds_is_a_part_with_its_line_and_its_growth():
    account = account_of()
    script = next(node for node in account.parts if node.name == "script")
    (losses,) = script.parts
    assert losses.where.line == APPEND_LINE
    assert losses.bytes == pytest.approx(35 * 5e7)
    assert {g.per: round(g.bytes / 1e6) for g in losses.growth} == {"step": 5, "epoch": 2000}
    assert all(g.low <= g.bytes <= g.high for g in (*losses.growth, *account.growth))
    assert account.limit_bytes == 8 * 10**9
    assert_adds_up(account.parts, account.bytes)


def test_buffers_and_caches_are_parts_of_the_input():
    account = memory_account(memory_run(is_cached=True, rss=rising(3.5e7, 6e8)))
    inputs = next(node for node in account.parts if node.name == "input")
    assert inputs.parts[0].name.startswith("MemoryCache")
    assert inputs.parts[0].where is not None
    assert_adds_up(account.parts, account.bytes)


def test_names_that_hold_more_than_the_process_are_cut_to_it():
    account = account_of(rss=lambda at_s: 3e8)
    assert_adds_up(account.parts, 3e8)


def test_a_system_that_does_not_tell_has_no_account():
    signals = memory_run()
    for row in signals.recording.main.tables["machine"]:
        row["rss_bytes"] = None
    assert memory_account(signals) is None


@pytest.mark.parametrize("archive", KEPT[:: max(len(KEPT) // 40, 1)], ids=lambda p: p.name[:-7])
def test_it_adds_up_for_recordings_of_real_runs(archive, tmp_path):
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    account = memory_account(Signals(read(tmp_path / "run.qfrun")))
    assert account is not None
    assert_adds_up(account.parts, account.bytes)
    assert account.bytes >= account.end_bytes
    # Plain numbers all the way down, for JSON.
    assert dataclasses.asdict(account)["bytes"] < sys.maxsize
