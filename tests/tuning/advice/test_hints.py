"""What to type next names what is there."""

import pytest

from quickfit.tuning.advice.hints import budget_words, input_hint


@pytest.mark.parametrize(
    ("seconds", "is_command", "words"),
    [
        (91.0, True, "--budget 2m"),
        (61.0, True, "--budget 90s"),
        (91.0, False, "budget_s=120"),
    ],
)
def test_a_budget_is_told_as_it_is_given(seconds, is_command, words):
    assert budget_words(seconds, is_command=is_command) == words


@pytest.mark.parametrize("target", ["opt.py:build", "opt:build"])
def test_the_file_of_the_function_is_named(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "opt.py").touch()
    hint = input_hint(target)
    assert "`quickfit bench opt.py:FUNCTION`" in hint
    assert "train.py" not in hint


@pytest.mark.parametrize("target", ["installed.module:build", print, object()])
def test_without_a_file_it_is_measured_in_python(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hint = input_hint(target)
    assert "`quickfit.data.measure(dataset)`" in hint
    assert "bench" not in hint
