"""Ways through statements: which ends are reached, and which `yield`s."""

import ast

import pytest

from quickfit.causes._shared.generator_flow import BREAK, ERROR, NEXT, RETURN, STOP, Walk


def ends(text, **options):
    walk = Walk(**options)
    return set(walk.block(ast.parse(text).body, {})), len(walk.yields)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("x = 1", {NEXT}, id="a statement"),
        pytest.param("while True:\n    yield 1", set(), id="for ever"),
        pytest.param("while 1:\n    yield 1", set(), id="for ever with a number"),
        pytest.param("on = True\nwhile on:\n    yield 1", set(), id="a name that nobody changes"),
        pytest.param("on = True\nwhile on:\n    yield 1\n    on = f()", {NEXT}, id="one that is"),
        pytest.param("while True:\n    if a:\n        break\n    yield 1", {NEXT}, id="break"),
        pytest.param("while True:\n    for x in y:\n        break\n    yield 1", set(), id="inner"),
        pytest.param("while True:\n    if a:\n        return\n    yield 1", {RETURN}, id="return"),
        pytest.param(
            "while True:\n    if a:\n        raise ValueError(1)\n    yield 1", {ERROR}, id="error"
        ),
        pytest.param(
            "while True:\n    if a:\n        raise Done\n    yield 1", {STOP}, id="signal"
        ),
        pytest.param("while True:\n    yield next(it)", {STOP}, id="what comes next"),
        pytest.param(
            "while True:\n    try:\n        x = next(it)\n    except StopIteration:\n"
            "        it = iter(y)\n        continue\n    yield x",
            set(),
            id="what comes next, begun again",
        ),
        pytest.param(
            "while True:\n    try:\n        x = next(it)\n    except StopIteration:\n"
            "        break\n    yield x",
            {NEXT},
            id="ended with what it reads",
        ),
        pytest.param(
            "try:\n    while True:\n        yield 1\nfinally:\n    f()", set(), id="finally"
        ),
        pytest.param(
            "try:\n    while True:\n        yield 1\nexcept GeneratorExit:\n    f()",
            set(),
            id="told to end",
        ),
        pytest.param(
            "try:\n    while True:\n        yield 1\nexcept Exception:\n    f()",
            {NEXT},
            id="given up",
        ),
        pytest.param(
            "with suppress(E):\n    while True:\n        yield 1", {NEXT}, id="suppressed"
        ),
        pytest.param("with open(f):\n    while True:\n        yield 1", set(), id="with"),
        pytest.param("while True:\n    sys.exit()", set(), id="the end of the program"),
        pytest.param("match a:\n    case 1:\n        return", {NEXT, RETURN}, id="match"),
        pytest.param("if False:\n    return", {NEXT}, id="never taken"),
        pytest.param("if a:\n    return\nelse:\n    break", {RETURN, BREAK}, id="both branches"),
    ],
)
def test_knows_how_statements_end(text, expected):
    assert ends(text)[0] == expected


@pytest.mark.parametrize(
    ("test", "reached"),
    [
        *((test, 0) for test in ("got", "len(got) > 0", "len(got) == size", "len(got) >= 1")),
        *((test, 0) for test in ("got != []", "got and a", "n > 0", "image is not None", "n")),
        *((test, 0) for test in ("len(np.array(got)) == batch_size", "not image is None")),
        *((test, 1) for test in ("not got", "a", "len(got) == 0", "got or a", "n == 0")),
        *((test, 1) for test in ("image is None", "n % size == 0", "len(got) < size", "n == a")),
    ],
)
def test_knows_which_conditions_nothing_decides(test, reached):
    text = f"got, n, image = [], 0, None\nif {test}:\n    yield 1"
    assert ends(text)[1] == reached


@pytest.mark.parametrize(
    "filling",
    ["got.append(1)", "fill(got)", "got += [1]", "got[0] = 1", "got = f()", "b = got", "f(a=got)"],
)
def test_forgets_a_list_that_may_have_been_filled(filling):
    assert ends(f"got = []\n{filling}\nif got:\n    yield 1")[1] == 1


def test_what_a_turn_of_a_loop_changes_is_not_known_in_the_next():
    text = "got = []\nfor x in y:\n    if got:\n        yield 1\n    got.append(x)"
    assert ends(text)[1] == 1


def test_a_clause_that_is_always_taken_leaves_the_rest_of_its_try_out():
    text = (
        "for p in q:\n    try:\n        x = load(p)\n    except E:\n        continue\n    yield x"
    )
    assert ends(text) == ({NEXT}, 1)
    tree = ast.parse(text)
    walk = Walk(failing=tree.body[0].body[0].handlers[0])
    walk.block(tree.body, {})
    assert walk.entered
    assert walk.yields == []
