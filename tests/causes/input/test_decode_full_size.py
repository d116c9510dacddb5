"""`decode-full-size`: fires when far more pixels are decoded than handed on."""

import dataclasses

import pytest

from quickfit.causes.input.decode_full_size import detect, fix, show_slow_decoding
from quickfit.findings import FixClass
from scenes import (
    MOVING,
    STUCK,
)
from scenes import SCRIPT as SCENE_SCRIPT

import builders
from builders import MAP_LINE, SCRIPT, run, shown_fix

TEXT = """\
def decode(data):
    image = tf.io.decode_jpeg(data, channels=3)
    return tf.image.resize(image, (96, 96))
"""
SHRINK = {"decoder": "DecodeJpeg", "ratio": 1, "to": [96, 96], "is_cropped": False}
FACTS = {"shrinks": [SHRINK], "function_file": SCRIPT, "function_line": 1}
SIZES = [["jpeg", 1500, 2000, 220_000]] * 5
SLOW = {
    "input_wait_s": 0.06,
    "map_s": 0.16,
    "per_batch": 16,
    "map_facts": FACTS,
    "source_facts": {"image_sizes": SIZES},
    "cpu_cores": 1.9,
    "input_cores": 1.6,
}


def with_shrink(**other):
    return {**SLOW, "map_facts": {**FACTS, "shrinks": [{**SHRINK, **other}]}}


@pytest.mark.parametrize("fused", [False, True], ids=["a map of its own", "fused with batch"])
def test_fires_at_the_line_of_the_map(fused):
    finding = detect(run(**SLOW, fused=fused))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == MAP_LINE
    assert finding.summary == "`map(decode)` decodes 326 times the pixels it hands on"
    wait, work, size = finding.evidence
    assert wait.value == pytest.approx(0.6, abs=0.01)
    assert work.value == pytest.approx(0.01, rel=0.05)
    assert "2000x1500 in 5 files" in size.detail
    assert 1.05 < finding.gain.low < finding.gain.likely < finding.gain.high < 3


def test_says_may_where_only_the_bytes_are_known():
    finding = detect(run(**{**SLOW, "source_facts": {}, "source_bytes": 220_000}))
    assert finding is not None
    assert "may decode" in finding.summary


def test_other_formats_can_only_be_made_smaller_before():
    sizes = [["png", 1000, 1000, 2_000_000]]
    signals = run(**{**with_shrink(decoder="DecodePng"), "source_facts": {"image_sizes": sizes}})
    finding = detect(signals)
    assert finding is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert "thumbnail" in advice.example


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({**SLOW, "input_wait_s": 0.004}, id="input is not the limit"),
        pytest.param(with_shrink(to=[1000, 1500]), id="the images are hardly shrunk"),
        pytest.param(with_shrink(ratio=8, to=[160, 160]), id="the decoder shrinks already"),
        pytest.param(with_shrink(is_cropped=True), id="a crop needs the pixels"),
        pytest.param(with_shrink(to=None), id="nobody knows the size"),
        pytest.param({**SLOW, "map_facts": {}}, id="nothing is decoded"),
        pytest.param({**SLOW, "map_s": 0.9}, id="something else in the map takes the time"),
        pytest.param({**SLOW, "source_facts": {}}, id="nothing is known of the files"),
        pytest.param(
            {**SLOW, "cpu_cores": 1.0, "input_cores": 0.35, "other_cores": 1.0},
            id="other programs take the cores from a busy model",
        ),
        pytest.param({"input": "generator", "batch_s": 0.09}, id="a generator"),
    ],
)
def test_stays_silent_when(given):
    assert detect(run(**given)) is None


def test_the_fix_adds_the_ratio_to_the_decoder(monkeypatch):
    monkeypatch.setattr(builders, "SOURCE", TEXT)
    signals = run(**SLOW)
    finding = detect(signals)
    assert finding is not None
    advice = shown_fix("decode-full-size", finding, signals)
    assert advice is not None
    assert not advice.before  # the page's example, because the code is not recognised
    assert "ratio=" in advice.example
    assert advice.kind is FixClass.MAY_CHANGE_RESULTS


def test_the_ratio_leaves_the_image_large_enough(monkeypatch):
    monkeypatch.setattr(builders, "SOURCE", TEXT)
    signals = run(**{**SLOW, "source_facts": {"image_sizes": [["jpeg", 400, 900, 40_000]]}})
    images = fix(None, signals)  # what was found is not asked for
    assert images is not None
    assert "smaller than 4 times the target" in images.note


def test_a_batch_of_large_images_is_told_with_how_far_it_is():
    found = show_slow_decoding(MOVING["decode-full-size"])
    assert (found.cause, found.moves) == ("decode-full-size", True)
    assert "40 of 256 elements, 54 s more" in found.summary


def restaged(name, place, **given):
    stages = list(SCENES[name].stages)
    stages[place] = dataclasses.replace(stages[place], **given)
    return changed(name, stages=tuple(stages))


SCENES = {**STUCK, **MOVING}


def changed(name, **given):
    return dataclasses.replace(SCENES[name], **given)


def test_a_map_is_known_by_its_text_where_its_operations_are_not():
    facts = {"function_file": SCENE_SCRIPT, "function_line": 1}
    named = {SCENE_SCRIPT: "def load(path):\n    return cv2.imread(path)\n"}
    given = restaged("decode-full-size", 1, facts=facts)
    assert show_slow_decoding(given) is None
    assert show_slow_decoding(dataclasses.replace(given, sources=named)) is not None
