"""`cpu-augmentation-heavy`: fires where random changes to images keep the cores busy."""

import pytest

from pipeline_changes import cache_is_read, changed, facts, one_iterator_per_epoch
from quickfit.causes.input.cpu_augmentation_heavy import augmenting, detect, fix
from quickfit.findings import FixClass
from quickfit.signals.python_input import is_crowded_out

from builders import MAP_LINE

SLOW = {"input_wait_s": 0.06, "map_s": 0.18, "cpu_cores": 1.9, "is_stateful": True}
OPS = ["AdjustHue", "Cast", "RandomUniform", "ResizeBilinear"]
RANDOM = facts("Map", ops=OPS)


@pytest.mark.parametrize("fused", [False, True], ids=["a map of its own", "fused with batch"])
def test_fires_at_the_line_of_the_map(fused):
    finding = detect(changed(RANDOM, **SLOW, fused=fused))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == MAP_LINE
    wait, work, cores = finding.evidence
    assert wait.value == pytest.approx(0.6, abs=0.01)
    assert work.value > 0.9
    assert "hue" in work.detail
    assert cores.value == pytest.approx(0.95)
    assert 1.0 <= finding.gain.low < finding.gain.likely < finding.gain.high


def test_a_map_that_decodes_too_fires_only_where_decoding_cannot_take_so_long():
    ops = ["AdjustHue", "DecodeJpeg", "RandomUniform"]
    # 110 kB of float32 are nine thousand pixels: 0.4 ms of decoding at the most.
    assert detect(changed(facts("Map", ops=ops), **SLOW)) is not None
    assert detect(changed(facts("Map", ops=ops), **{**SLOW, "element_bytes": 3_000_000})) is None


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(
            changed(RANDOM, **{**SLOW, "input_wait_s": 0.004}), id="input is not the limit"
        ),
        pytest.param(changed(facts("Map", ops=OPS[1:]), **SLOW), id="only cheap random changes"),
        pytest.param(changed(facts("Map", ops=["AdjustHue"]), **SLOW), id="nothing is random"),
        pytest.param(
            changed(facts("Map", ops=[*OPS, "DecodeJpeg"]), **SLOW),
            id="it decodes images of unknown size",
        ),
        pytest.param(changed(RANDOM, **SLOW, runs_python=True), id="Python in the map"),
        pytest.param(
            changed(RANDOM, **{**SLOW, "cpu_cores": 1.0}, parallelism=1.0),
            id="a map on one thread beside idle cores",
        ),
        pytest.param(changed(RANDOM, **{**SLOW, "cpu_cores": 0.6}), id="the cores are idle"),
        pytest.param(
            changed(RANDOM, **{**SLOW, "map_s": 0.07, "cpu_cores": 1.0}, other_cores=1.0),
            id="other programs take the cores",
        ),
        pytest.param(changed(RANDOM, **SLOW, input="pydataset"), id="a PyDataset"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


@pytest.mark.parametrize("devices", [[["CPU", "0"]], [["CPU", "0"], ["GPU", "0"]]])
def test_layers_on_an_accelerator_are_not_promised_to_be_faster(devices):
    signals = changed(RANDOM, **SLOW, facts={"tensorflow_devices": devices})
    finding = detect(signals)
    assert finding is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert "resize" in advice.example
    assert "accelerator" not in finding.gain.basis
    assert advice.kind is FixClass.MAY_CHANGE_RESULTS


OPS_AUGMENTING = ["AdjustHue", "RandomUniform"]


def test_the_share_of_the_work_is_told():
    found = augmenting(changed(facts("Map", ops=OPS_AUGMENTING), map_s=0.1))
    assert found is not None
    assert found.work_s == pytest.approx(0.1, rel=0.05)
    assert found.share > 0.99
    assert found.operations == ("hue",)


def test_work_before_a_cache_that_is_read_is_done_once_and_does_not_count():
    given = {"map_s": 0.1, "is_cached": True}
    changes = (facts("Map", ops=OPS_AUGMENTING), one_iterator_per_epoch, cache_is_read)
    assert augmenting(changed(*changes, **given)) is None


def test_without_a_random_operation_there_is_none():
    assert augmenting(changed(facts("Map", ops=["AdjustHue"]))) is None


@pytest.mark.parametrize(
    ("given", "is_crowded"),
    [
        ({"other_cores": 0.0, "map_s": 0.01}, False),
        ({"other_cores": 1.0, "map_s": 0.01, "cpu_cores": 1.0}, True),
        ({"other_cores": 1.0, "map_s": 0.4, "input_wait_s": 0.08, "cpu_cores": 1.0}, False),
    ],
)
def test_others_are_the_reason_where_the_input_would_hide_behind_the_model(given, is_crowded):
    assert is_crowded_out(changed(**given)) is is_crowded


def decoding(*ops, call_s):
    """Return a map of 32 calls per step that decodes photographs of two megapixels to 96x96."""
    shrink = {"decoder": "DecodeJpeg", "ratio": 1, "to": [96, 96], "is_cropped": False}
    given = facts("Map", ops=[*OPS_AUGMENTING, *ops], shrinks=[shrink])
    sizes = facts("TensorSlice", image_sizes=[["jpeg", 1200, 1600, 400_000]])
    return changed(given, sizes, map_s=32 * call_s, per_batch=32)


def test_a_map_that_decodes_too_counts_where_decoding_cannot_take_so_long():
    ops = ("DecodeJpeg", "ReadFile", "ResizeBilinear")
    assert augmenting(decoding(*ops, call_s=0.020)) is None
    assert augmenting(decoding(*ops, call_s=0.060)) is not None


def test_jpeg_artefacts_are_a_random_change_and_no_file():
    ops = [*OPS_AUGMENTING, "DecodeJpeg", "EncodeJpegVariableQuality", "ResizeBicubic"]
    found = augmenting(changed(facts("Map", ops=ops), map_s=0.1))
    assert found is not None
    assert "JPEG artefacts" in found.operations
    assert augmenting(changed(facts("Map", ops=[*ops, "ReadFile"]), map_s=0.1)) is None
