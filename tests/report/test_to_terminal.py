"""Terminal reports: whole snapshots, colour, encodings, widths and hostile text."""

import io
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quickfit.findings import (
    BreakdownPart,
    Clear,
    Evidence,
    Fix,
    FixClass,
    Gain,
    Location,
    NotChecked,
    RunOutcome,
    Severity,
)
from quickfit.report.to_terminal import write_report

from report.builders import (
    BREAKDOWN,
    CPU_ONLY,
    diagnosis,
    full_diagnosis,
    generator_finding,
    map_finding,
    memory_finding,
    turbo_places,
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def written(diagnosed, stream=None, **options):
    stream = stream or io.StringIO()
    write_report(diagnosed, stream, **options)
    return stream.getvalue()


REPORTS = {
    "full": full_diagnosis,
    "one_finding": lambda: diagnosis(map_finding()),
    "memory": lambda: diagnosis(
        memory_finding(),
        memory_finding(cause="host-ram-growth", severity=Severity.MENTION),
        headline="3 tensors are kept with every step; the limit of memory is reached in 25 min",
    ),
    "compute_bound": lambda: diagnosis(advice=("A larger batch would fill the cores.",)),
    "turbo": lambda: diagnosis(map_finding(), turbo=turbo_places()),
    "turbo_of_nothing": lambda: diagnosis(turbo=()),
    "no_steps": lambda: diagnosis(
        verdict="no-steps",
        headline="no training step was seen",
        breakdown=None,
        not_checked=(NotChecked("sequential-map", "no steps were recorded"),),
        clear=(),
        outcome=RunOutcome("exit 1", exit_code=1),
    ),
}


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.usefixtures("at_home")
def test_a_plain_report_is_as_reviewed(name, width, matches_snapshot):
    assert matches_snapshot(written(REPORTS[name](), width=width), f"{name}_{width}.txt")


@pytest.mark.usefixtures("at_home")
def test_a_coloured_report_is_as_reviewed(matches_snapshot):
    assert matches_snapshot(written(full_diagnosis(), color=True), "full_color.ansi")


@pytest.mark.usefixtures("at_home")
def test_colour_changes_no_character_and_no_line():
    colored = written(full_diagnosis(), color=True)
    stripped = re.sub(r"\x1b\[[\d;]*m", "", colored)
    assert [line.rstrip() for line in stripped.split("\n")] == written(full_diagnosis()).split("\n")


def test_the_first_line_after_a_blank_one_is_the_device_verdict():
    blank, first, *_ = written(full_diagnosis()).split("\n")
    assert blank == ""
    assert first.startswith("device   1 GPU in this machine is not used")
    assert written(diagnosis()).split("\n")[2].startswith("verdict  compute-bound")


def test_the_last_line_is_the_next_command():
    last = written(diagnosis(run="/data/a.qfrun")).rstrip("\n").split("\n")[-1]
    assert last == "as JSON: quickfit report /data/a.qfrun --format json"


def test_only_later_findings_tell_their_gain_after_the_first_fix():
    after = Gain(1.1, 1.2, 1.3, "")
    shown = written(diagnosis(generator_finding(after_first=after), map_finding(after_first=after)))
    assert shown.count("after the first fix: 1.2×") == 1


class TestColour:
    @pytest.fixture(autouse=True)
    def plain_environment(self, monkeypatch):
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm-256color")

    def test_is_used_on_a_terminal(self):
        assert "\x1b[" in written(diagnosis(), Terminal())

    def test_is_not_used_elsewhere(self):
        assert "\x1b" not in written(diagnosis())

    def test_is_declined_by_no_color(self, monkeypatch):
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b" not in written(diagnosis(), Terminal())

    def test_is_declined_by_a_dumb_terminal(self, monkeypatch):
        monkeypatch.setenv("TERM", "dumb")
        assert "\x1b" not in written(diagnosis(), Terminal())

    def test_can_be_forced(self, monkeypatch):
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b[" in written(diagnosis(), color=True)

    def test_can_be_turned_off(self):
        assert "\x1b" not in written(diagnosis(), Terminal(), color=False)


@pytest.mark.parametrize(("columns", "longest"), [("72", 72), ("300", 100), ("5", 40)])
def test_a_terminal_gives_its_width_within_bounds(columns, longest, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    shown = written(diagnosis(headline="word " * 90), Terminal(), color=False)
    assert max(map(len, shown.split("\n")[:9])) in range(longest - 5, longest + 1)


@pytest.mark.usefixtures("at_home")
def test_an_ascii_stream_gets_a_whole_report():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    write_report(full_diagnosis(), stream)
    shown = raw.getvalue().decode("ascii")
    assert "training 1.4-2.5x faster, likely 1.9x" in shown
    assert "6.0 us per step" in shown
    assert "same results - explain" in shown


def hostile_diagnosis(text):
    place = Location(text, 1, text, text)
    finding = map_finding(
        cause=text,
        summary=text,
        evidence=(Evidence(text, 1.0, "s", text, place),),
        gain=Gain(1.2, 1.3, 1.4, text),
        fix=Fix(text, FixClass.SAME_RESULTS, before=text, after=text, example=text, note=text),
        not_found=(text,),
    )
    return diagnosis(
        replace(finding, where=place),
        run=text,
        script=text,
        headline=text,
        device=replace(CPU_ONLY, status="unused", summary=text, facts=(text,), advice=text),
        breakdown=replace(BREAKDOWN, parts=(BreakdownPart(text, text, 0.1, 1.0),)),
        clear=(Clear(text),),
        not_checked=(NotChecked(text, text),),
        outcome=RunOutcome(text, signal=text),
        advice=(text,),
        notes=(text,),
    )


@settings(deadline=None, max_examples=50)
@given(st.text(min_size=1))
def test_no_text_of_a_recording_reaches_the_terminal_unprinted(text):
    shown = written(hostile_diagnosis(text))
    assert all(line.isprintable() for line in shown.split("\n"))


def test_markup_and_escapes_of_a_recording_have_no_effect():
    shown = written(hostile_diagnosis("[red]a[/red]\x1b[2J\u202e"), color=True)
    assert "[red]a[/red]" in shown
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown


def test_huge_texts_give_a_short_report():
    shown = written(hostile_diagnosis("very long \n" * 100_000))
    assert shown.count("\n") < 300


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 0.0])
def test_odd_numbers_do_not_break_a_report(value):
    finding = map_finding(
        evidence=(Evidence("a", value, "s"), Evidence("b", value, "share")),
        gain=Gain(value, value, value, "x"),
        cost_share=value,
    )
    odd = replace(BREAKDOWN, step_s=value, step_spread_s=value, time_to_first_step_s=value)
    assert "sequential-map" in written(diagnosis(finding, breakdown=odd))
