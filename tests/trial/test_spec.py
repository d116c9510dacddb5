"""What a trial is told comes out of its file as it went in."""

import pytest

from quickfit.trial.spec import SPEC_FILE, Spec, read


def test_a_spec_comes_back_as_it_was_written(tmp_path):
    spec = Spec(
        scratch=str(tmp_path),
        parent=12,
        files={"/home/ü x/train.py": "/scratch/0.py"},
        seed=3,
        results_steps=32,
        holds=True,
        script="/home/train.py",
        args=("--lr", "0.1", "", "ü"),
    )
    path = spec.write()
    assert path == tmp_path / SPEC_FILE
    assert read(str(path)) == spec


def test_a_file_that_is_no_spec_is_an_error(tmp_path):
    (tmp_path / "x").write_text("{")
    with pytest.raises(ValueError, match="property name"):
        read(str(tmp_path / "x"))
