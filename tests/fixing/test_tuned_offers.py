"""All settings that can be tried on a script."""

import pytest

from fixing.tuned_runs import SOURCE, recording, watched
from quickfit.code.edits import apply_edits
from quickfit.fixing import tuned_offers
from quickfit.fixing.tuned_offers import NO_MAIN, UNSCALED, offers_of
from quickfit.fixing.tuned_watched import Watched
from quickfit.tuning.advice.result import ChangeKind

MODEL = SOURCE.replace(
    "ds = files", "model = keras.Sequential([keras.layers.Dense(1)]); ds = files"
)


@pytest.fixture(autouse=True)
def _old_cpu(monkeypatch):
    """A CPU without units for 16 bits, whatever the tests run on."""
    monkeypatch.setattr(tuned_offers, "read_cpu", lambda: (frozenset({"avx2"}), "Some CPU"))


def named(offers):
    return {offer.name: offer for offer in offers}


def test_everything_is_offered_in_the_order_of_trying():
    assert [offer.name for offer in offers_of(watched(step_s=0.002))] == [
        "32 steps per call",
        "8 steps per call",
        "batch 64 (×2)",
        "batch 128 (×4)",
        "mixed_bfloat16",
        "XLA (jit_compile)",
        "inter-op threads 1",
        "intra-op threads 1",
    ]


def test_threads_are_set_in_the_file_that_is_run():
    offers = named(offers_of(watched(facts={"usable_cores": 8.0})))
    assert offers["intra-op threads 4"].setting == {"intra_threads": 4}
    after = apply_edits(SOURCE, offers["inter-op threads 1"].change.edits)
    assert after.startswith(
        "import tensorflow as tf\ntf.config.threading.set_inter_op_parallelism_threads(1)\n"
    )


def test_one_core_needs_no_threads():
    offers = named(offers_of(watched(facts={"usable_cores": 1.0})))
    assert offers["threads"].why == "there is one core, and threads share it"


def test_without_units_for_16_bits_precision_is_not_offered():
    said = named(offers_of(watched()))["mixed_bfloat16"].why
    assert said.startswith("this CPU has no units for 16 bits (Some CPU")
    assert said.endswith("--try precision measures it all the same")


def test_precision_is_offered_where_somebody_wants_to_see_it():
    found = named(offers_of(watched(MODEL), frozenset({"precision"})))["mixed_bfloat16"]
    assert found.kind is ChangeKind.PRECISION
    assert 'set_dtype_policy("mixed_bfloat16")' in apply_edits(MODEL, found.change.edits)


def test_precision_is_offered_on_a_gpu():
    devices = [["CPU", "/physical_device:CPU:0"], ["GPU", "/physical_device:GPU:0"]]
    found = watched(MODEL, facts={"tensorflow_devices": devices})
    assert named(offers_of(found))["mixed_float16"].change is not None


def test_float16_in_a_loop_of_its_own_needs_loss_scaling():
    devices = [["GPU", "/physical_device:GPU:0"]]
    found = watched(MODEL, kind="custom", facts={"tensorflow_devices": devices})
    assert named(offers_of(found))["mixed_float16"].why == UNSCALED


def test_without_the_file_that_is_run_there_is_no_place_for_threads():
    found = Watched(recording(run={"script": "/gone.py"}), {"/other.py": SOURCE})
    assert named(offers_of(found, frozenset({"precision"})))["mixed_bfloat16"].why == NO_MAIN
    assert named(offers_of(found))["inter-op threads 1"].why == NO_MAIN
