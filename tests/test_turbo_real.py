"""With `--turbo`, scripts print the same bits, trace as often, and are faster at some lines."""

from pathlib import Path

import pytest

from quickfit.recording import reader

from launch.sessions import clean_env, newest_run, python, quickfit

pytestmark = [pytest.mark.tf, pytest.mark.tf_any]

SCRIPTS = Path(__file__).parent / "scripts" / "turbo"
ENV = clean_env(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="")


def run_both(folder, name):
    """Run a script plainly and with `--turbo`; return the rows of what was done."""
    script = str(SCRIPTS / f"{name}.py")
    plain = python(folder, script, env=ENV)
    turbo = quickfit(folder, "run", "--turbo", script, env=ENV)
    assert (plain.returncode, turbo.returncode) == (0, 0), turbo.stderr.decode()[-2000:]
    assert turbo.stdout.decode().splitlines() == plain.stdout.decode().splitlines()
    main = reader.read(newest_run(folder)).main
    probes = {row["name"]: row for row in main.rows("probes")}
    assert probes["turbo"]["state"] == "active", probes["turbo"]
    assert "turbo    saved" in turbo.stderr.decode()
    return main.rows("turbo")


def test_datasets_give_the_same_bits_and_end_beside_the_script(tmp_path):
    rows = run_both(tmp_path, "pipelines")
    assert {row["kind"] for row in rows} == {"iterator-end"}
    assert any(row["on_count"] for row in rows)


def test_predictions_are_the_same_bits_without_a_pipeline(tmp_path):
    rows = run_both(tmp_path, "predicting")
    on = [row for row in rows if row["kind"] == "predict" and row["on_count"]]
    assert len(on) == 2  # the other lines call it too seldom to be timed
    assert all(row["cause"] == "predict-in-loop" for row in on)
    reasons = {row["what"]: row["reason"] for row in rows if row["state"] == "left"}
    assert reasons["a generator"] == "a Python generator makes its batches"
    assert reasons["a PyDataset"] == "Python makes its batches"
    assert reasons["`predict`"].startswith("it predicts more than one batch")
