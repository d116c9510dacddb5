"""An array is followed to the line that makes it, through names, functions and files."""

import textwrap

import pytest

from quickfit.code.arrays import Arrays


def made_at(method, line, text, **others):
    texts = {"train.py": text, **{f"{name}.py": other for name, other in others.items()}}
    return Arrays({n: textwrap.dedent(t) for n, t in texts.items()}).maker("train.py", line, method)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("x = np.zeros(9)\nstep(x)", 1, id="a name"),
        pytest.param("y = 1\nstep(np.ones(3))", 2, id="no name"),
        pytest.param("x = rng.normal(size=3)\nstep((x - x.mean()) / 2)", 1, id="arithmetic"),
        pytest.param("x = rng.random(9)\nx = x / 2\nstep(x[3:6])", 1, id="assigned twice"),
        pytest.param("x, y = np.load(p), 1\nstep((x, y))", 1, id="a tuple"),
        pytest.param("y, x = f(), np.load(p)\nstep({'image': x})", 1, id="its second part"),
        pytest.param("f = pd.read_csv(p)\nstep(f.values)", 1, id="a table"),
        pytest.param("f = pd.read_csv(p)\nstep(f.drop('y').to_numpy())", 1, id="its methods"),
        pytest.param("a = np.load(p)\nx = np.stack([a, a])\nstep(x)", 1, id="put together"),
        pytest.param("X, y = make_rows(9)\nstep(X)", 1, id="by a library's function"),
        pytest.param("x = images.astype('float64')\nstep(x)", 1, id="cast"),
        pytest.param("x = np.load(p)\nstep(x.astype('float32'))", None, id="made single"),
        pytest.param("x = np.ones(3, dtype=np.float32)\nstep(x)", None, id="born single"),
        pytest.param("step(x)", None, id="nowhere"),
        pytest.param("x = x\nstep(x)", None, id="made of itself"),
        pytest.param("step(3)", None, id="a number"),
    ],
)
def test_the_line_that_makes_an_array(text, expected):
    line = made_at("step", text.count("\n") + 1, text)
    assert line == (None if expected is None else ("train.py", expected))


def test_a_function_of_another_file_is_followed():
    text = "ds = Dataset.from_tensor_slices(table(9)).batch(3)"
    data = """\
        def table(rows):
            raw = np.random.default_rng(5).normal(size=rows)
            raw = raw / 2
            return raw, np.tanh(raw)
        """
    assert made_at("from_tensor_slices", 1, text, data=data) == ("data.py", 2)


def test_an_argument_is_followed_to_the_call():
    text = "x = np.zeros(3)\ndef train(data):\n    model.fit(data)\ntrain(x)"
    assert made_at("fit", 3, text) == ("train.py", 1)


def test_an_attribute_is_followed_to_where_it_is_set():
    text = """\
        class Data:
            def __init__(self):
                self.x = np.zeros(3)
            def run(self):
                step(self.x)
        """
    assert made_at("step", 5, text) == ("train.py", 3)


def test_what_calls_itself_ends():
    assert made_at("step", 3, "def f():\n    return f()\nstep(f())") is not None


def test_two_calls_of_a_line_tell_nothing():
    assert made_at("step", 2, "x = np.zeros(3)\nstep(x); step(x)") is None


def test_a_text_that_is_no_python_tells_nothing():
    assert made_at("step", 1, "step(") is None
