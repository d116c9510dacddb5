"""Training steps that are written by hand."""

import pytest

from quickfit.patterns.gradients import is_on_its_way, steps

from programs import program_of

TAPE = "import tensorflow as tf\nwith tf.GradientTape() as tape:\n    loss = f(x)\n"


def found(text):
    program = program_of(text)
    module = program.module("/project/train.py")
    return module, list(steps(program, module))


@pytest.mark.parametrize(
    ("rest", "is_plain"),
    [
        ("g = tape.gradient(loss, v)\nopt.apply_gradients(zip(g, v))\n", True),
        ("g = tape.gradient(loss, v)\nopt.apply(g, v)\n", True),
        ("opt.apply_gradients(zip(tape.gradient(loss, v), v))\n", True),
        (
            "if half:\n    g = tape.gradient(loss, v)\nelse:\n    g = None\n"
            "opt.apply_gradients(zip(g, v))\n",
            True,
        ),
        ("g = tape.gradient(loss, v)\ng = clip(g)\nopt.apply_gradients(zip(g, v))\n", False),
        ("g = tape.gradient(loss, v)\nprint(g)\nopt.apply_gradients(zip(g, v))\n", False),
    ],
)
def test_finds_a_step(rest, is_plain):
    module, (step,) = found(TAPE + rest)
    assert step.tape.lineno == 2
    assert module.code(step.loss) == "loss"
    assert module.code(step.optimizer) == "opt"
    assert is_on_its_way(module, step) is is_plain


@pytest.mark.parametrize(
    "text",
    [
        "g = np.gradient(loss)\nopt.apply_gradients(zip(g, v))\n",
        TAPE + "g = tape.gradient(loss, v)\n",
        TAPE + "g = other.gradient(loss, v)\nopt.apply(g, v)\n",
    ],
)
def test_finds_none_in_other_code(text):
    assert found(text)[1] == []


def test_keeps_two_tapes_apart():
    text = """\
    import tensorflow as tf
    with tf.GradientTape() as one, tf.GradientTape() as two:
        a, b = f(x), g(x)
    first = one.gradient(a, v)
    second = two.gradient(b, w)
    opt_a.apply_gradients(zip(first, v))
    opt_b.apply_gradients(zip(second, w))
    """
    module, both = found(text)
    pairs = [(module.code(s.loss), module.code(s.optimizer)) for s in both]
    assert pairs == [("a", "opt_a"), ("b", "opt_b")]
