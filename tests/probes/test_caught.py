"""Exceptions are counted in constant memory, and told without running the script's code."""

from pathlib import Path

import pytest

from quickfit.probes import _caught
from quickfit.probes._caught import Look, message_of

# -- counting -------------------------------------------------------------------------------------


def caught(error):
    try:
        raise error
    except BaseException as value:  # noqa: BLE001 - any
        return value


def test_at_most_so_many_are_counted_in_constant_memory(monkeypatch):
    monkeypatch.setattr(_caught, "MAX_CAUGHT", 30)
    look = Look()
    for number in range(100):
        look.add(caught(type(f"Error{number % 60}", (Exception,), {})()))
    assert len(look.counts) == 30
    assert look.caught == 30
    assert look.ended_s is not None


def test_kinds_beyond_the_first_ones_are_not_kept():
    look = Look()
    for number in range(200):
        look.add(caught(type(f"Error{number}", (Exception,), {})()))
    assert len(look.counts) == len(look.details) == _caught.MAX_KINDS


@pytest.mark.parametrize("error", [StopIteration(3), GeneratorExit(), StopAsyncIteration()])
def test_what_ends_a_loop_is_no_error(error):
    look = Look()
    look.add(caught(error))
    assert look.counts == {}


# -- messages -------------------------------------------------------------------------------------


class HostileText(str):
    def __str__(self):
        raise SystemExit(3)

    __repr__ = __str__


class HostileError(Exception):
    def __str__(self):
        raise SystemExit(3)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("bad label"), "bad label"),
        (ValueError(), ""),
        (ValueError(3, None, 2.5), "(3, None, 2.5)"),
        (KeyError("name"), "'name'"),
        (FileNotFoundError(2, "No such file", "a.png"), "[Errno 2] No such file: 'a.png'"),
        (OSError(2, "No such file", Path("a.png")), "[Errno 2] No such file: PosixPath('a.png')"),
        (OSError(2, "No such file", HostileText("x")), "No such file"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "why"), "'utf-8' codec can't decode byte 0xff"),
        (ValueError("é" * 1000), "é" * 200),
        (ValueError("x" * 10_000_000), "x" * 200),
        (ValueError(10**100_000), ""),
        (ValueError("text", [1] * 10_000_000), "text"),
        (ValueError(HostileText("x")), ""),
        (HostileError("text"), "text"),
        (HostileError(), ""),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else type(value).__name__,
)
def test_a_message_is_short_and_runs_no_code_of_the_script(error, message):
    assert message_of(error, 200).startswith(message)
    assert len(message_of(error, 200)) <= 200
