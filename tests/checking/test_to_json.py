"""The report for programs."""

import json
import os
import re
from pathlib import Path

import pytest

from checking.cases import outcome, told
from quickfit.checking.records import Checked, Outcome, Trouble
from quickfit.checking.to_json import MAX_LINE, dumps
from quickfit.findings import Effect, Span

TEXT = "import tf\nds = make(bad)\n"
DOC = Path(__file__).parent.parent.parent / "docs" / "check.md"


def written(*tolds, **more):
    return json.loads(dumps(outcome(*tolds, **more)))


def test_a_finding_in_full(home):
    file = str(home / "train.py")
    related = ((Span(file, 1, 1, 1, 3), "imported here"),)
    found = told(file, TEXT, "bad", becomes="good", related=related, note="Mind it.")
    where = {"file": "train.py", "cell": None, "line": 2, "column": 11}
    where |= {"end_line": 2, "end_column": 14}
    assert written(found)["findings"] == [
        {
            "cause": "shuffle-autotune",
            "title": "A title",
            "effect": "crashes",
            "is_hint": False,
            "summary": "it is wrong",
            "where": where,
            "code": "ds = make(bad)",
            "related": [
                {
                    "where": {**where, "line": 1, "column": 1, "end_line": 1, "end_column": 3},
                    "text": "imported here",
                }
            ],
            "is_fixable": True,
            "change": {
                "title": "Write it so",
                "class": "repairs",
                "note": "Mind it.",
                "edits": [{"where": where, "text": "good"}],
            },
        }
    ]


def test_what_surrounds_the_findings(home):
    file = str(home / "a.py")
    one = told(file, TEXT, "bad", becomes="good")
    two = told(file, TEXT, "make", cause="predict-in-loop", effect=Effect.SLOW)
    report = written(one, two, files=3, fixed=(one,))
    assert report["schema_version"] == 1
    assert report["files"] == 3
    assert [each["cause"] for each in report["fixed"]] == ["shuffle-autotune"]
    assert report["statistics"] == [
        {"cause": "predict-in-loop", "count": 1, "fixable": 0},
        {"cause": "shuffle-autotune", "count": 1, "fixable": 1},
    ]
    assert report["findings"][1]["change"] is None


def test_errors_have_a_place(home):
    troubles = (
        Trouble(Span(str(home / "a.py"), 3, 5), "invalid syntax"),
        Trouble(Span(str(home / "b.py"), 0), "cannot read"),
    )
    report = json.loads(dumps(Outcome((Checked("a.py", troubles=troubles, hints=2),))))
    nothing = {"end_line": None, "end_column": None, "cell": None}
    assert report["errors"] == [
        {"where": {"file": "a.py", "line": 3, "column": 5, **nothing}, "message": "invalid syntax"},
        {
            "where": {"file": "b.py", "line": None, "column": None, **nothing},
            "message": "cannot read",
        },
    ]
    assert report["hidden_hints"] == 2


def test_it_is_ascii_and_strict_whatever_the_text(home):
    file = os.fsdecode(bytes(home) + b"/\xff\n.py")
    found = told(file, "x = 'ö\x1b'; bad", "bad", summary="\ud800 ö")
    text = dumps(outcome(found))
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert json.loads(text)["findings"][0]["where"]["file"] == "\\udcff\n.py"


def test_a_long_line_is_cut(home):
    found = told(str(home / "a.py"), "x = '" + "y" * 5000 + "'; bad", "bad")
    assert len(written(found)["findings"][0]["code"]) == MAX_LINE


def test_a_file_elsewhere_keeps_its_whole_path(home):
    found = told("/elsewhere/a.py", TEXT, "bad")
    assert written(found)["findings"][0]["where"]["file"] == "/elsewhere/a.py"


def keys(value, prefix=""):
    """Return every key of a report, as the page names it: `findings[].where.line`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{prefix}{key}"
            yield from keys(inner, f"{prefix}{key}.")
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{prefix.removesuffix('.')}[].")


def test_every_key_is_documented(home):
    file = str(home / "a.py")
    found = told(file, TEXT, "bad", becomes="good", related=((Span(file, 1), "there"),))
    trouble = Trouble(Span(file, 3, 5), "invalid syntax")
    whole = Outcome((Checked(file, (found,), (trouble,)),), fixed=())
    told_keys = set(keys(json.loads(dumps(whole))))
    documented = set(re.findall(r"^\| `([^`]+)` \|", DOC.read_text(), re.M))
    for key in told_keys:
        # A place is described once, as `where`.
        short = re.sub(r"^.*\bwhere\.", "where.", key)
        assert short in documented, key


@pytest.mark.parametrize("effect", list(Effect))
def test_every_effect_is_documented(effect):
    assert f"`{effect.value}`" in DOC.read_text()
