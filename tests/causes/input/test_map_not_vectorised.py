"""`map-not-vectorised`: fires for thousands of tiny calls, never where the work itself is large."""

import pytest

from quickfit.causes.input.map_not_vectorised import detect, fix
from quickfit.findings import FixClass

import builders
from builders import MAP_LINE, run, shown_fix

OPS = ["Cast", "Const", "Identity", "OneHot", "Placeholder", "RealDiv"]
SLOW = {
    "input_wait_s": 0.06,
    "map_s": 0.04,
    "per_batch": 2048,
    "element_bytes": 168,
    "map_facts": {"ops": OPS},
    "cpu_cores": 1.5,
    "input_cores": 1.2,
}


@pytest.mark.parametrize("fused", [False, True], ids=["a map of its own", "fused with batch"])
def test_fires_at_the_line_of_the_map(fused):
    finding = detect(run(**SLOW, fused=fused))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == MAP_LINE
    wait, work, cpu = finding.evidence
    assert wait.value == pytest.approx(0.6, abs=0.01)
    assert "2048 calls of 20 µs" in work.detail
    assert cpu.value == pytest.approx(1.2 * 0.1 / 2048, rel=0.05)
    assert 1.2 < finding.gain.low < finding.gain.likely < finding.gain.high < 7


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({**SLOW, "input_wait_s": 0.004}, id="input is not the limit"),
        pytest.param({**SLOW, "per_batch": 32}, id="few calls"),
        pytest.param({**SLOW, "map_s": 0.4}, id="real work in each call"),
        pytest.param({**SLOW, "element_bytes": 110_000}, id="large elements"),
        pytest.param({**SLOW, "map_facts": {"ops": [*OPS, "FFT"]}}, id="an operation with work"),
        pytest.param({**SLOW, "map_facts": {}}, id="nobody knows what the map does"),
        pytest.param({**SLOW, "is_stateful": True}, id="random numbers"),
        pytest.param({**SLOW, "runs_python": True}, id="Python"),
        pytest.param({**SLOW, "is_cached": True, "map_s": 1e-5}, id="a cache keeps the results"),
        pytest.param({**SLOW, "generator_s": 0.09}, id="a generator is the limit"),
        pytest.param({**SLOW, "cpu_cores": 0.4, "input_cores": 0.1}, id="the threads are idle"),
        pytest.param(
            {**SLOW, "cpu_cores": 1.0, "input_cores": 0.35, "other_cores": 1.0},
            id="other programs take the cores from a busy model",
        ),
    ],
)
def test_stays_silent_when(given):
    assert detect(run(**given)) is None


def test_the_fix_shows_the_order_where_a_shuffle_stands_between():
    signals = run(**SLOW)
    finding = detect(signals)
    assert finding is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert advice.kind is FixClass.EQUIVALENT
    assert advice.example.index("batch") < advice.example.index("map")


def test_work_along_an_axis_is_told_but_not_edited(monkeypatch):
    text = "\n" * (MAP_LINE - 1) + "ds = files.map(scale).batch(2048).prefetch(2)\n"
    monkeypatch.setattr(builders, "SOURCE", text)
    signals = run(**{**SLOW, "map_facts": {"ops": [*OPS, "ConcatV2"]}})
    finding = detect(signals)
    assert finding is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert advice.before == ""
    assert "Axes and shapes" in advice.note
    assert advice.kind is FixClass.EQUIVALENT


def test_parsing_has_another_name_for_batches():
    signals = run(**{**SLOW, "map_facts": {"ops": [*OPS, "ParseExampleV2"]}})
    finding = detect(signals)
    assert finding is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert "parse_example`" in advice.note
    assert not advice.before


def test_the_fix_shows_the_page_where_the_code_is_not_recognised(monkeypatch):
    text = "\n" * (MAP_LINE - 1) + "ds = files.map(scale).batch(2048).prefetch(2)\n"
    monkeypatch.setattr(builders, "SOURCE", text)
    signals = run(**SLOW)
    finding = detect(signals)
    assert finding is not None
    edit = shown_fix("map-not-vectorised", finding, signals)
    assert edit is not None
    assert not edit.before  # nothing says that `scale` takes batches
    assert ".batch(" in edit.example
    assert edit.kind is FixClass.EQUIVALENT
