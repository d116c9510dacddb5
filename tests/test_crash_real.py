"""Real scripts that crash: explained by their text, and repaired."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.tf, pytest.mark.tf_any]
EXAMPLE = Path(__file__).parent.parent / "corpus" / "pairs" / "shuffle-autotune" / "slow.py"


def quickfit(folder, *words):
    command = [sys.executable, "-m", "quickfit", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def script(tmp_path):
    return Path(shutil.copy(EXAMPLE, tmp_path / "train.py"))


def test_a_crash_is_explained_beside_its_own_traceback(script):
    plain = subprocess.run(
        [sys.executable, "train.py"], cwd=script.parent, capture_output=True, check=False
    )
    ran = quickfit(script.parent, "run", "train.py")
    assert ran.returncode == plain.returncode == 1
    assert "buffer_size must be greater than zero" in ran.stderr
    assert "crashed: `shuffle(AUTOTUNE)` is `shuffle(-1)`" in ran.stderr
    assert "+ dataset = dataset.shuffle(1000)" in ran.stderr


def test_a_crash_is_repaired_and_proven_to_train(script):
    before = script.read_text()
    ran = quickfit(script.parent, "fix", "--apply", "train.py")
    assert ran.returncode == 0, ran.stderr
    assert "it trains" in " ".join(ran.stdout.split())
    assert "dataset.shuffle(1000)" in script.read_text()
    assert quickfit(script.parent, "fix", "--undo").returncode == 0
    assert script.read_text() == before
