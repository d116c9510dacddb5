import io
import sys

from quickfit.tuning.batches import telling
from quickfit.tuning.batches.rows import Row


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_size_is_told_in_a_line():
    row = Row(32, (0.0052,), 632e6)
    assert telling.line(row) == "batch 32: 5.2 ms per step, 6,154 samples/s, 632 MB"
    assert telling.line(Row(64, words="hung: no sign")) == "batch 64: hung: no sign"


def test_a_terminal_hears_every_line(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    telling.to_terminal()("batch 8: fine")
    assert terminal.getvalue() == "batch 8: fine\n"


def test_a_file_hears_nothing(monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    telling.to_terminal()("batch 8: fine")
    assert file.getvalue() == ""


def test_a_table_of_nothing_has_its_heads():
    assert telling.table([], None) == ["  batch  step  samples/s  of best  memory"]


def test_an_own_batch_that_was_not_measured_is_marked():
    lines = telling.table([Row(8, words="not tried", is_own=True)], None)
    assert lines[1].endswith("your batch; not tried")
