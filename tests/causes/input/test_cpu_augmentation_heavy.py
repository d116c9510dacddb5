"""`cpu-augmentation-heavy`: fires where random changes to images keep the cores busy."""

import pytest

from pipeline_changes import changed, facts
from quickfit.causes.input.cpu_augmentation_heavy import detect, fix
from quickfit.findings import FixClass

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


@pytest.mark.parametrize(
    ("devices", "said"),
    [([["CPU", "0"]], "resize"), ([["CPU", "0"], ["GPU", "0"]], "RandomRotation")],
)
def test_the_fix_depends_on_the_device(devices, said):
    signals = changed(RANDOM, **SLOW, facts={"tensorflow_devices": devices})
    finding = detect(signals)
    assert finding is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert said in advice.example
    assert advice.kind is FixClass.MAY_CHANGE_RESULTS
