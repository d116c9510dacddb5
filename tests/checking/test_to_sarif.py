"""SARIF: valid by the schema of the standard, with places, fixes and stable fingerprints."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from checking.cases import bare, outcome, told
from quickfit.causes import catalogue
from quickfit.checking.records import Checked, Outcome, Trouble
from quickfit.checking.to_sarif import FINGERPRINT, dumps
from quickfit.findings import Change, Edit, Effect, FixClass, Span

TEXT = "import tf\nds = make(bad)\n"
SCHEMA = json.loads((Path(__file__).parent.parent / "schemas" / "sarif-2.1.0.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER)


def written(whole):
    """Return the run, after the schema has been asked."""
    text = dumps(whole)
    assert text.isascii()
    log = json.loads(text)
    VALIDATOR.validate(log)
    return log["runs"][0]


def result(*tolds, **more):
    return written(outcome(*tolds, **more))["results"][0]


@pytest.fixture
def file(home):
    return str(home / "train.py")


def test_the_schema_refuses_what_is_wrong():
    assert VALIDATOR.is_valid({"version": "2.1.0", "runs": []})
    assert not VALIDATOR.is_valid({"version": "2.1.0"})
    assert not VALIDATOR.is_valid({"version": "2.1.0", "runs": [{"tool": {}}]})


def test_a_clean_run_is_valid(home):
    run = written(outcome())
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 0}]
    assert run["originalUriBaseIds"] == {"SRCROOT": {"uri": f"{home.as_uri()}/"}}


def test_a_finding_has_its_place_and_text(file):
    found = result(told(file, TEXT, "bad"))
    assert (found["ruleId"], found["ruleIndex"], found["level"]) == ("shuffle-autotune", 0, "error")
    assert found["message"] == {"text": "it is wrong"}
    assert found["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "train.py", "uriBaseId": "SRCROOT"},
                "region": {
                    "startLine": 2,
                    "startColumn": 11,
                    "endLine": 2,
                    "endColumn": 14,
                    "snippet": {"text": "ds = make(bad)"},
                },
            }
        }
    ]


@pytest.mark.parametrize(
    ("effect", "is_hint", "level"),
    [
        (Effect.CRASHES, False, "error"),
        (Effect.HANGS, False, "error"),
        (Effect.WRONG, False, "error"),
        (Effect.SLOW, False, "warning"),
        (Effect.SLOW, True, "note"),
        (Effect.CRASHES, True, "note"),
    ],
)
def test_the_level_follows_the_effect(file, effect, is_hint, level):
    assert result(told(file, TEXT, "bad", effect=effect, is_hint=is_hint))["level"] == level


def test_related_places_are_numbered(file, home):
    related = ((Span(str(home / "b.py"), 1, 1, 1, 3), "made here"),)
    found = bare(related=related)
    found = replace(found, file_lines=(1, 1))
    place = result(found)["relatedLocations"][0]
    assert place["id"] == 1
    assert place["message"] == {"text": "made here"}
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "b.py"


def test_a_change_is_a_fix(file):
    assert result(told(file, TEXT, "bad", becomes="good"))["fixes"] == [
        {
            "description": {"text": "Write it so"},
            "artifactChanges": [
                {
                    "artifactLocation": {"uri": "train.py", "uriBaseId": "SRCROOT"},
                    "replacements": [
                        {
                            "deletedRegion": {
                                "startLine": 2,
                                "startColumn": 11,
                                "endLine": 2,
                                "endColumn": 14,
                            },
                            "insertedContent": {"text": "good"},
                        }
                    ],
                }
            ],
        }
    ]


def test_a_change_in_two_files_is_one_fix(file, home):
    other = str(home / "b.py")
    edits = (Edit(file, (1, 0), (1, 0), "import a\n"), Edit(other, (1, 0), (2, 0), ""))
    change = Change("Both", FixClass.REPAIRS, edits)
    places = tuple(
        (Span(e.file, e.begin[0], e.begin[1] + 1, e.end[0], e.end[1] + 1), e.text) for e in edits
    )
    found = replace(bare(change=change), edits=places)
    changes = result(found)["fixes"][0]["artifactChanges"]
    assert [each["artifactLocation"]["uri"] for each in changes] == ["train.py", "b.py"]


def test_rules_carry_the_page_of_the_cause(file):
    run = written(outcome(told(file, TEXT, "bad"), bare("predict-in-loop", Effect.SLOW)))
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["predict-in-loop", "shuffle-autotune"]
    page = catalogue()["shuffle-autotune"].page
    assert rules[1]["help"]["text"] == page
    assert "**Use instead:**\n\n    dataset" in rules[1]["help"]["markdown"]
    assert rules[1]["name"] == "ShuffleAutotune"
    assert rules[0]["defaultConfiguration"] == {"level": "warning"}
    assert "helpUri" not in rules[1]


def test_the_page_of_every_cause_is_valid(home):
    written(outcome(*(bare(name) for name in catalogue())))


def test_errors_of_files_are_notifications(home):
    troubles = (
        Trouble(Span(str(home / "a.py"), 3, 5), "invalid", "", 3),
        Trouble(Span(str(home / "b.ipynb"), 1, 5, cell=2), "invalid", "", 40),
        Trouble(Span(str(home / "c.py"), 0), "cannot read"),
    )
    call = written(Outcome((Checked("a.py", troubles=troubles),)))["invocations"][0]
    assert (call["executionSuccessful"], call["exitCode"]) == (False, 2)
    places = [n["locations"][0]["physicalLocation"] for n in call["toolExecutionNotifications"]]
    assert places[0]["region"] == {"startLine": 3, "startColumn": 5}
    assert places[1]["region"] == {"startLine": 40}
    assert "region" not in places[2]


def fingerprints(*tolds):
    run = written(outcome(*tolds))
    return [each["partialFingerprints"][FINGERPRINT] for each in run["results"]]


def test_a_fingerprint_stays_when_lines_are_moved(file):
    before = fingerprints(told(file, TEXT, "bad"))
    assert fingerprints(told(file, f"# more\n\n{TEXT}", "bad")) == before
    assert fingerprints(told(file, TEXT.replace("ds =", "    ds ="), "bad")) == before


def test_a_fingerprint_tells_findings_apart(file, home):
    first = told(file, TEXT, "bad")
    again = told(file, f"\n{TEXT}", "bad")
    other_cause = told(file, TEXT, "bad", cause="predict-in-loop")
    other_file = told(str(home / "b.py"), TEXT, "bad")
    other_line = told(file, TEXT.replace("make", "made"), "bad", summary="s")
    found = fingerprints(first, again, other_cause, other_file, other_line)
    assert len(set(found)) == 5


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        (b"a b.py", "a%20b.py"),
        (b"a:b,c#d?e%.py", "a%3Ab%2Cc%23d%3Fe%25.py"),
        (b"new\nline.py", "new%0Aline.py"),
        ("snö.py".encode(), "sn%C3%B6.py"),
        (b"\xff.py", "%FF.py"),
        (b"sub/a.py", "sub/a.py"),
    ],
)
def test_names_are_percent_encoded(home, name, uri):
    file = os.fsdecode(bytes(home) + b"/" + name)
    place = result(told(file, TEXT, "bad"))["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": uri, "uriBaseId": "SRCROOT"}


def test_a_file_elsewhere_has_an_absolute_uri(home):
    place = result(told("/else where/a.py", TEXT, "bad"))["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "file:///else%20where/a.py"}


def test_a_finding_in_a_notebook_has_the_line_of_its_file_and_its_cell(file):
    found = told(file, TEXT, "bad", becomes="good")
    where = replace(found.spotted.where, cell=3)
    edits = ((where, "good"),)
    spotted = replace(found.spotted, where=where)
    shown = result(replace(found, spotted=spotted, edits=edits, file_lines=(77,)))
    place = shown["locations"][0]
    assert place["physicalLocation"]["region"]["startLine"] == 77
    assert "startColumn" not in place["physicalLocation"]["region"]
    assert place["logicalLocations"] == [{"name": "cell 3", "kind": "module"}]
    assert "fixes" not in shown


def test_text_that_would_be_taken_for_a_link_is_not(file):
    assert result(told(file, TEXT, "bad", summary="x[0](1), [a]"))["message"]["text"] == (
        r"x\[0\](1), [a]"
    )


def test_odd_text_is_valid(file):
    text = "x = '\x1b\u2028'; bad\n"
    result(told(file, text, "bad", summary="\ud800\x00", becomes="\udfff"))
