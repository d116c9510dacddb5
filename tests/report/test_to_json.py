"""JSON reports: the documented keys, strict numbers, and text as recorded."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import quickfit
from quickfit.findings import Evidence, Fix, FixClass, Gain, Hunk
from quickfit.report.to_json import dumps, to_json

from report.builders import (
    BREAKDOWN,
    diagnosis,
    full_diagnosis,
    map_finding,
    memory_finding,
    turbo_places,
)

DOCS = Path(__file__).parents[2] / "docs" / "report-json.md"


def test_a_report_is_as_reviewed(matches_snapshot):
    shown = dumps(full_diagnosis()).replace(f'"{quickfit.__version__}"', '"VERSION"')
    assert matches_snapshot(shown + "\n", "full.json")


def test_a_report_of_a_healthy_run_is_as_reviewed(matches_snapshot):
    shown = dumps(diagnosis()).replace(f'"{quickfit.__version__}"', '"VERSION"')
    assert matches_snapshot(shown + "\n", "compute_bound.json")


def test_the_dictionary_is_what_the_text_says():
    assert json.loads(dumps(full_diagnosis())) == to_json(full_diagnosis())


def test_numbers_stay_numbers():
    report = to_json(diagnosis(map_finding()))
    assert report["breakdown"]["step_s"] == 0.100
    assert report["findings"][0]["gain"]["likely"] == 1.3


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), np.float32("nan")])
def test_what_is_not_a_finite_number_is_null(value):
    finding = map_finding(evidence=(Evidence("a", value, "s"),), gain=Gain(1, 2, value, ""))
    report = json.loads(dumps(diagnosis(finding, breakdown=replace(BREAKDOWN, step_s=value))))
    assert report["findings"][0]["evidence"][0]["value"] is None
    assert report["findings"][0]["gain"]["high"] is None
    assert report["breakdown"]["step_s"] is None


def test_numbers_of_numpy_are_written_too():
    finding = map_finding(evidence=(Evidence("a", np.float32(0.5), "s"),), cost_share=np.int64(1))
    report = json.loads(dumps(diagnosis(finding)))
    assert report["findings"][0]["evidence"][0]["value"] == 0.5
    assert report["findings"][0]["cost_share"] == 1


def test_text_is_kept_but_written_in_ascii():
    shown = dumps(diagnosis(notes=("\x1b[31m\u202e[red]×",)))
    assert shown.isascii()
    assert "\x1b" not in shown
    assert json.loads(shown)["notes"] == ["\x1b[31m\u202e[red]×"]


def test_half_a_surrogate_pair_is_written_as_an_escape():
    assert json.loads(dumps(diagnosis(notes=("a\ud800",))))["notes"] == ["a\\ud800"]


def test_what_json_has_no_type_for_is_our_bug():
    with pytest.raises(TypeError, match="JSON has no type for"):
        to_json(diagnosis(notes=(b"bytes",)))


def keys_of(value, prefix=""):
    if isinstance(value, dict):
        for key, each in value.items():
            yield prefix + key
            yield from keys_of(each, f"{prefix}{key}.")
    elif isinstance(value, list):
        for each in value:
            yield from keys_of(each, prefix.removesuffix(".") + "[].")


def test_every_key_is_documented():
    documented = set(re.findall(r"^\| `([^`]+)` \|", DOCS.read_text(), flags=re.MULTILINE))
    edit = Fix("t", FixClass.SAME_RESULTS, hunks=(Hunk("train.py", 1, "a", "b"),))
    turbo = diagnosis(turbo=turbo_places())
    told = (full_diagnosis(), diagnosis(memory_finding(), map_finding(fix=edit)), turbo)
    keys = {key for each in told for key in keys_of(to_json(each))}
    # A node of the account has the keys of its parent, and its place those of a finding's.
    below = re.compile(
        r"^(account\.(children\[\]\.|where\.)|memory\.parts\[\]\.(parts\[\]|growth\[\]|where)\."
        r"|turbo\[\]\.where\.)"
    )
    assert {key for key in keys if not below.match(key)} == documented
