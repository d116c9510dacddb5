"""What commands answer as JSON is what their schemas say: no key more, none less."""

import json
from importlib import resources
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from checking.cases import told
from compression.shrinking.rows_builder import a_result
from data.speed.speeds import speed
from quickfit.checking import to_json as of_check
from quickfit.checking.records import Checked, Outcome, Trouble
from quickfit.cli.bench import _race_json
from quickfit.cli.explain import Schema
from quickfit.cli.main import app
from quickfit.data.speed.figures import TimeSpan
from quickfit.data.speed.race import Race
from quickfit.diagnosis.candidates import Unrecognised
from quickfit.findings import Effect, Span
from quickfit.fixing.to_json import story_json
from quickfit.lab.statistics import Measured
from quickfit.report import dumps
from stories import outcome, story, write_script

from report.builders import full_diagnosis, generator_finding
from report.pages import diagnosis_of, hostile_run
from tuning.advice.advice_builder import FAILED, LESS, NOT_TRIED, SLOWER, XLA, advice


def schema(name: str) -> Any:
    """Return a schema that allows no key which it does not name."""
    file = resources.files("quickfit.report") / f"schemas/{name}.schema.json"
    return _closed(json.loads(file.read_text()))


def _closed(node: Any) -> Any:
    if isinstance(node, list):
        return [_closed(each) for each in node]
    if not isinstance(node, dict):
        return node
    closed = {key: _closed(value) for key, value in node.items()}
    return {**closed, "additionalProperties": False} if "required" in node else closed


def check(name: str, text: str) -> None:
    jsonschema.Draft202012Validator(schema(name)).validate(json.loads(text))


RECORDINGS = ["pairs/autotune-ram-growth", "variants/combined.validation_callback"]


def test_a_report_with_everything_in_it():
    check("report", dumps(full_diagnosis()))


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_report_of(name, tmp_path):
    check("report", dumps(diagnosis_of(name, tmp_path)))


def test_a_report_of_a_recording_that_means_harm(tmp_path):
    from quickfit.diagnosis import diagnose

    check("report", dumps(diagnose(hostile_run(tmp_path))))


def test_fixes(tmp_path):
    write_script(tmp_path)
    script = tmp_path / "train.py"
    one, two = outcome(script), outcome(script, why="gains less", ratios=(1.0, 1.01))
    without = [Unrecognised(generator_finding(), "cannot be read")]
    check("fix", story_json(story(tmp_path, one, two, without=without)))
    found = json.loads(story_json(story(tmp_path, one)))
    assert found["changes"][0]["diff"].startswith("diff --git a/train.py b/train.py")
    assert found["changes"][0]["is_accepted"]


def test_settings():
    found = advice(XLA, SLOWER, NOT_TRIED, LESS, FAILED, took_s=150.0)
    check("tune", json.dumps(found.as_json()))


def test_a_check(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, text = str(tmp_path / "train.py"), "import tf\nds = make(bad)\n"
    related = ((Span(file, 1, 1, 1, 3), "imported here"),)
    one = told(file, text, "bad", becomes="good", related=related, note="Mind it.")
    two = told(file, text, "make", cause="predict-in-loop", effect=Effect.SLOW)
    broken = Checked(file, (one, two), (Trouble(Span(file, 0), "cannot be read"),))
    check("check", of_check.dumps(Outcome((broken,), fixed=(one,))))


def test_speeds():
    check("bench", json.dumps(speed().as_json()))
    span = TimeSpan(10, 320, 1.0, 1.5)
    race = Race(("before", "after"), (span, span), Measured(1.1, 1.2, 1.3, 6))
    check("bench", json.dumps(_race_json(race)))


def test_smaller_models():
    check("shrink", json.dumps(a_result(chosen="pruned-50-int8").as_json()))


@pytest.mark.parametrize("name", list(Schema))
def test_a_schema_is_printed_and_is_one(name):
    shown = CliRunner().invoke(app(), ["explain", "--schema", name.value]).stdout
    jsonschema.Draft202012Validator.check_schema(json.loads(shown))


def test_a_schema_of_a_cause_is_refused():
    result = CliRunner().invoke(app(), ["explain", "--schema", "fix", "tiny-batch"])
    assert "--schema is about a command, not about a cause" in str(result.exception)
