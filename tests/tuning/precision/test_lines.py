"""Tests of the lines to paste for a policy."""

import ast

import pytest

from quickfit.tuning.precision.lines import lines_for


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float32"])
def test_the_lines_are_python_and_name_the_policy(policy):
    ast.parse("\n".join(lines_for(policy)))
    assert policy in lines_for(policy)[0]


def test_16_bits_come_with_a_head_in_float32():
    assert any('dtype="float32"' in line for line in lines_for("mixed_bfloat16"))
    assert len(lines_for("float32")) == 1


def test_only_float16_comes_with_loss_scaling():
    assert "LossScaleOptimizer" in "\n".join(lines_for("mixed_float16"))
    assert "LossScaleOptimizer" not in "\n".join(lines_for("mixed_bfloat16"))
