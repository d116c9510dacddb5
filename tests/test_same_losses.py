"""Five seeded scripts of different styles print the same bits with and without quickfit."""

from pathlib import Path

import pytest

from quickfit.recording import reader

from launch.sessions import clean_env, newest_run, of_the_script, python, quickfit

pytestmark = [pytest.mark.tf, pytest.mark.tf_any]

SCRIPTS = Path(__file__).parent / "scripts" / "seeded"
# One line of TensorFlow's log carries a time and a process number; this keeps it away.
ENV = clean_env(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="")
# By script: the fewest losses it prints, and the steps it trains.
STYLES = {
    "fit_pipeline": (16, 80),
    "fit_generator": (90, 90),
    "on_batch": (24, 120),
    "compiled_loop": (160, 80),
    "eager_loop": (30, 150),
}


def test_every_style_is_compared():
    assert {path.stem for path in SCRIPTS.glob("*.py")} == set(STYLES)


@pytest.mark.parametrize("name", STYLES)
def test_losses_and_weights_are_the_same_bits(name, tmp_path):
    script = str(SCRIPTS / f"{name}.py")
    plain = python(tmp_path, script, env=ENV)
    watched = quickfit(tmp_path, "run", script, env=ENV)
    losses, steps = STYLES[name]
    assert (plain.returncode, watched.returncode) == (0, 0), plain.stderr.decode()[-2000:]
    assert plain.stdout.count(b"0x") > losses
    assert b"nan" not in plain.stdout
    assert watched.stdout == plain.stdout
    assert of_the_script(watched.stderr) == plain.stderr
    # The same because nobody looked would prove nothing.
    assert len(reader.read(newest_run(tmp_path)).main.rows("steps")) >= steps
