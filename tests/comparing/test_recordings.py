"""Two kept recordings side by side: what is said of them, and in which formats."""

import dataclasses
import json
import re
import sqlite3

import jsonschema
import pytest
from typer.testing import CliRunner

from quickfit.cli.main import app
from quickfit.comparing.recordings import (
    compare_recordings,
    is_slower_than,
    share_of,
    with_verdict,
)
from quickfit.errors import UsageError
from quickfit.findings import Interval
from quickfit.report import comparison as words
from quickfit.report.page import render_comparison

from report.pages import HOSTILE, hostile_run, unpack


def closed(node):
    """Return a schema that allows no key which it does not name."""
    if isinstance(node, list):
        return [closed(each) for each in node]
    if not isinstance(node, dict):
        return node
    inside = {key: closed(value) for key, value in node.items()}
    return {**inside, "additionalProperties": False} if "required" in node else inside


@pytest.fixture(scope="module")
def schema():
    """The schema that `quickfit explain --schema compare` prints."""
    shown = CliRunner().invoke(app(), ["explain", "--schema", "compare"]).stdout
    return closed(json.loads(shown))


def stretched(run, factor, *, table="steps"):
    """Make a recording whose every step takes so many times as long as it did."""
    for file in run.glob("*.sqlite"):
        db = sqlite3.connect(file)
        (begin,) = db.execute("SELECT min(begin_s) FROM steps").fetchone() or (None,)
        if begin is not None:
            for column in ("begin_s", "end_s"):
                db.execute(
                    f"UPDATE {table} SET {column} = ? + ({column} - ?) * ?", (begin, begin, factor)
                )
            db.execute("UPDATE loops SET end_s = ? + (end_s - ?) * ?", (begin, begin, factor))
        db.commit()
        db.close()
    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Unpack recordings, each once."""
    known = {}

    def run(name, factor=1.0):
        if (name, factor) not in known:
            folder = unpack(name, tmp_path_factory.mktemp("run"))
            known[name, factor] = stretched(folder, factor) if factor != 1 else folder
        return known[name, factor]

    return run


@pytest.fixture(scope="module")
def compared(runs):
    """Compare two recordings, each pair once."""
    known = {}

    def compare(*pair):
        if pair not in known:
            known[pair] = compare_recordings(*(runs(*one) for one in pair))
        return known[pair]

    return compare


CNN = ("healthy/small_cnn.alone",)


def test_a_run_is_as_fast_as_itself(compared):
    found = compared(CNN, CNN)
    assert found.slower.likely == 1
    assert found.verdict in ("same", "unsure")
    assert {node.state for node in found.nodes} <= {"same", "unsure"}
    assert (found.new, found.gone, found.differences) == ((), (), ())


def test_steps_that_take_longer_are_found_both_ways(compared):
    slower = compared(CNN, (*CNN, 1.4))
    assert slower.verdict == "slower"
    assert slower.slower.low < 1.4 < slower.slower.high
    assert is_slower_than(slower.slower, 0.1)
    assert re.match(r"slower: a step takes 40 % longer \(", slower.headline)
    faster = compared((*CNN, 1.4), CNN)
    assert faster.verdict == "faster"
    assert not is_slower_than(faster.slower, 0.0)


def test_one_run_of_each_is_no_proof_of_a_few_percent(compared):
    found = compared(CNN, (*CNN, 1.04))
    assert found.verdict == "unsure"
    assert "no difference that is sure" in found.headline
    assert not is_slower_than(found.slower, 0.0)


def test_other_epochs_scripts_and_loads_are_said(compared):
    found = compared(("pairs/busy-machine",), CNN)
    assert found.unit == "epoch"
    said = " ".join(found.differences)
    assert "steps in an epoch: 32 before, 85 after; epochs are compared" in said
    assert "other programs used" in said
    assert [finding.cause for finding in found.gone] == ["busy-machine"]
    # What others took may have been the whole difference: the interval is wider by that.
    assert found.slower.high / found.slower.likely > found.slower.likely / found.slower.low


def test_too_few_steps_are_no_comparison(compared):
    found = dataclasses.replace(compared(CNN, CNN), slower=None)
    side = dataclasses.replace(found.after, unit_s=None, name="new.qfrun")
    said = with_verdict(dataclasses.replace(found, after=side))
    assert said.headline == "cannot be compared: too few steps in new.qfrun"


def test_a_part_that_is_new_has_no_time_before(compared):
    nodes = {node.name: node for node in compared(("pairs/busy-machine",), CNN).nodes}
    assert nodes["validation"].before_s == 0
    assert nodes["validation"].state == "grew"
    assert nodes["imports"].unit == "run"
    assert nodes["step"].unit == "step"


@pytest.mark.parametrize(
    ("shown", "share"), [("10%", 0.1), ("10", 0.1), ("0.1", 0.1), ("2.5 %", 0.025), ("150%", 1.5)]
)
def test_a_limit_is(shown, share):
    assert share_of("--fail-if-slower", shown) == pytest.approx(share)


@pytest.mark.parametrize("shown", ["", "fast", "-1%", "1e9", "10%%"])
def test_a_limit_is_not(shown):
    with pytest.raises(UsageError, match="not a share"):
        share_of("--fail-if-slower", shown)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, runs):
    """A comparison whose second recording means harm."""
    run = hostile_run(tmp_path_factory.mktemp("hostile"))
    return compare_recordings(runs(*CNN), run)


def test_the_json_is_what_the_schema_says(compared, hostile, schema):
    for found in (compared(CNN, (*CNN, 1.4)), hostile):
        shown = json.loads(words.comparison_dumps(found))
        jsonschema.Draft202012Validator(schema).validate(shown)
        assert shown["verdict"] == found.verdict


def test_text_and_markdown_have_verdict_sides_and_parts(compared):
    found = compared(CNN, (*CNN, 1.4))
    for shown in (words.comparison_to_text(found), words.comparison_to_markdown(found)):
        assert "slower: a step takes 40 % longer" in shown
        assert "the train step, a step" in shown
        assert "one run of each" in shown


def test_hostile_names_stay_text(hostile):
    page, markdown = render_comparison(hostile), words.comparison_to_markdown(hostile)
    assert HOSTILE[:20] not in page
    assert "<img" not in page
    assert "<img" not in re.sub(r"`[^`]*`", "", markdown.replace("\\`", ""))
    assert "\x1b" not in words.comparison_to_text(hostile)


def test_a_page_shows_both_and_may_load_nothing(compared):
    page = render_comparison(compared(CNN, (*CNN, 1.4)))
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    assert page.count("bar-before") > 4
    assert "<h2>Before</h2>" in page
    assert "<h2>After</h2>" in page


def test_values_without_an_end_are_words():
    span = Interval(0.5, 2.5, float("inf"))
    assert words.strict_json(dataclasses.asdict(span))["high"] is None
