"""Two replicas that share a batch make the update that one device makes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.tf, pytest.mark.tf_any]


@pytest.fixture(scope="module")
def answer():
    """Return what replicas.py prints."""
    script = Path(__file__).with_name("replicas.py")
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    ran = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=env, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("case", ["plain", "uneven", "weighted", "accumulated", "guarded"])
def test_update_is_that_of_one_device(answer, case):
    assert answer[case]["weights"] <= 1e-5
    assert answer[case]["loss"] <= 1e-5


def test_float16_update_is_nearly_that_of_one_device(answer):
    assert answer["float16"]["weights"] <= 1e-3


@pytest.mark.parametrize("case", ["guarded", "float16"])
def test_what_one_replica_sees_is_left_out_by_all(answer, case):
    assert answer[case]["skipped"] == [1, 1]


def test_several_steps_per_call_are_the_same_steps(answer):
    single, several = answer["dataset"][:4], answer["dataset"][4:]
    assert several == pytest.approx(single, abs=1e-5)


def test_refuses_batches_smaller_than_the_replicas(answer):
    assert "batch of 1 cannot be shared by 2 replicas" in answer["too few"]


def test_refuses_stacks_with_several_replicas(answer):
    assert "takes an iterator" in answer["stacked"]


def test_refuses_xla_with_several_replicas(answer):
    assert "jit=True does not work with 2 replicas" in answer["jit"]
