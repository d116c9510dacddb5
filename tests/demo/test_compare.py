"""Measuring two scripts in turn, with a stand-in for Keras so that no TensorFlow starts."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from quickfit.demo import compare
from quickfit.demo.story import ProgressLine
from quickfit.errors import QuickfitError

from launch.sessions import PATIENCE_S

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")

KERAS = """
import time
class callbacks:
    class Callback:
        pass
class Model:
    def fit(self, step_s, callbacks=None):
        while True:
            time.sleep(step_s)
            for callback in callbacks:
                callback.on_train_batch_end(0)
"""
TRAIN = """
import os, sys, keras
with open(__file__ + ".pid", "w") as file:
    file.write(str(os.getpid()))
keras.Model().fit({step_s})
"""


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    monkeypatch.setattr(compare, "BLOCK_S", 0.4)
    (tmp_path / "keras.py").write_text(KERAS)
    for name, step_s in (("slow", 0.04), ("fixed", 0.004)):
        (tmp_path / f"{name}.py").write_text(TRAIN.format(step_s=step_s))
    return tmp_path / "slow.py", tmp_path / "fixed.py"


def measure(scripts, tmp_path):
    line = ProgressLine(io.StringIO(), "measuring")
    return compare.measure_side_by_side(scripts, tmp_path, tmp_path / "m", line=line, rounds=2)


def has_ended(script):
    pid = int(Path(f"{script}.pid").read_text())
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_measures_both_and_leaves_no_process(scripts, tmp_path):
    result = measure(scripts, tmp_path)
    assert len(result.ratios) == 2
    assert result.speed_up > 1
    assert all(has_ended(script) for script in scripts)


def test_a_script_that_fails_is_named_with_its_last_words(scripts, tmp_path):
    scripts[1].write_text("raise RuntimeError('no more photographs')")
    with pytest.raises(QuickfitError, match=r"fixed\.py: ended with exit code 1") as caught:
        measure(scripts, tmp_path)
    assert "RuntimeError: no more photographs" in str(caught.value)


def test_a_script_that_never_steps_is_given_up(scripts, tmp_path, monkeypatch):
    monkeypatch.setattr(compare, "PATIENCE_S", 0.0)
    with pytest.raises(QuickfitError, match=r"slow\.py: did not get to step 20 within 0 s"):
        measure(scripts, tmp_path)


def test_steps_longer_than_a_block_are_not_compared(scripts, tmp_path, monkeypatch):
    monkeypatch.setattr(compare, "BLOCK_S", 0.01)
    with pytest.raises(QuickfitError, match=r"too long to compare"):
        measure(scripts, tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_PDEATHSIG")
def test_no_stopped_process_stays_when_the_demo_is_killed(scripts, tmp_path):
    program = (
        "import sys; from pathlib import Path; from quickfit.demo import compare;"
        "from quickfit.demo.story import ProgressLine;"
        "here = Path(sys.argv[1]); line = ProgressLine(sys.stdout, '');"
        "compare.measure_side_by_side((here / 'slow.py', here / 'fixed.py'), here, here / 'm',"
        " line=line, rounds=1000)"
    )
    demo = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: all(Path(f"{script}.pid").exists() for script in scripts))
        wait_until(lambda: any(is_stopped(script) for script in scripts))
    finally:
        demo.send_signal(signal.SIGKILL)
        demo.wait()
    wait_until(lambda: all(has_ended(script) for script in scripts))


def is_stopped(script):
    text = Path(f"{script}.pid").read_text()
    return bool(text) and psutil.Process(int(text)).status() == psutil.STATUS_STOPPED


def wait_until(holds):
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)
