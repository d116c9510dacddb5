"""Markdown reports: what they say, and that text of a recording never becomes markup."""

from dataclasses import replace

from quickfit.findings import Fix, FixClass, Hunk, Location
from quickfit.report.to_markdown import to_markdown

from report.builders import diagnosis, full_diagnosis, map_finding, memory_finding


def test_a_report_is_as_reviewed(matches_snapshot, at_home):
    assert matches_snapshot(to_markdown(full_diagnosis()), "full.md")


def test_the_change_is_a_diff_and_the_command_stands_at_the_end():
    shown = to_markdown(diagnosis(map_finding()))
    assert "```diff\n- ds = ds.map(decode)\n+ ds = ds.map(\n" in shown
    assert shown.splitlines()[-1].startswith("To make the fix and prove it: `quickfit fix ")


def test_a_healthy_run_is_three_lines():
    assert len([line for line in to_markdown(diagnosis()).splitlines() if line]) == 3


def test_what_runs_out_is_said():
    assert "limit of 8.0 GB reached in about 25 min" in to_markdown(diagnosis(memory_finding()))


def test_text_of_a_recording_is_no_markup():
    where = Location("/home/ada/a|b`c.py", 3, "x")
    finding = map_finding(
        where=where, summary="[a](https://example.org) <img src=x> **b** @ada #7 | `c|d`"
    )
    shown = to_markdown(replace(diagnosis(finding), notes=("<script>x</script>",)))
    assert "<script>" not in shown
    assert "<img" not in shown
    assert "](https://" not in shown
    assert "://example" not in shown
    assert "@ada" not in shown
    assert r"\*\*b\*\*" in shown
    assert r"`c\|d`" in shown
    assert r"/a\|b'c.py:3`" in shown


def test_a_fence_is_longer_than_any_in_the_code():
    hunk = Hunk("/home/ada/train.py", 1, 'x = """\n```\n"""', "x = 1")
    fix = Fix("Change it", FixClass.SAME_RESULTS, hunks=(hunk,))
    lines = to_markdown(diagnosis(map_finding(fix=fix))).splitlines()
    assert "````diff" in lines
    assert lines.count("````") == 1
