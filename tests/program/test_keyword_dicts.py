"""What a call is given with `**options`."""

import pytest

from quickfit.program.keyword_dicts import unpacked

from programs import program_of


def read(text):
    """Return what `f(…)` gets by `**`, as it is written."""
    program = program_of(text)
    module = program.module("/project/train.py")
    (call,) = module.calls("f")
    found = unpacked(program, module, call)
    return None if found is None else {k: m.code(v) for k, (m, v) in found.items()}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("f(1, a=2)\n", {}, id="nothing is hidden"),
        pytest.param("f(**{'a': 1})\n", {"a": "1"}, id="written in the call"),
        pytest.param("o = {'a': 1}\nf(**o)\n", {"a": "1"}, id="a name"),
        pytest.param("o = dict(a=1, b=2)\nf(**o)\n", {"a": "1", "b": "2"}, id="dict"),
        pytest.param("p = {'a': 1}\no = dict(p, b=2)\nf(**o)\n", {"a": "1", "b": "2"}, id="more"),
        pytest.param("p = {'a': 1}\nf(**{**p, 'a': 2})\n", {"a": "2"}, id="the last one counts"),
        pytest.param("p = {'a': 1}\nf(**p, **{'b': 2})\n", {"a": "1", "b": "2"}, id="two of them"),
        pytest.param("o = {'a': 1}\nprint(o, o['a'])\nf(**o)\n", {"a": "1"}, id="read only"),
    ],
)
def test_what_is_in_options(text, found):
    assert read(text) == found


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("f(**o)\n", id="unknown"),
        pytest.param("f(*o)\n", id="a tuple"),
        pytest.param("o = {key: 1}\nf(**o)\n", id="a key that is not written"),
        pytest.param("o = dict(pairs)\nf(**o)\n", id="made of something else"),
        pytest.param("o = {'a': 1}\nif x:\n    o = {'b': 1}\nf(**o)\n", id="one of two"),
        pytest.param("o = {'a': 1}\no['b'] = 2\nf(**o)\n", id="filled"),
        pytest.param("o = {'a': 1}\no |= p\nf(**o)\n", id="joined"),
        pytest.param("o = {'a': 1}\ndel o['a']\nf(**o)\n", id="emptied"),
        pytest.param("o = {'a': 1}\no.setdefault('b', 2)\nf(**o)\n", id="a default"),
        pytest.param("o = {'a': 1}\nchange(options=o)\nf(**o)\n", id="given away by name"),
        pytest.param("o = {'a': 1}\np = o\np['b'] = 2\nf(**o)\n", id="by a second name"),
        pytest.param("def g(**o):\n    f(**o)\n", id="whatever a function gets"),
    ],
)
def test_options_that_may_have_more_are_open(text):
    assert read(text) is None
