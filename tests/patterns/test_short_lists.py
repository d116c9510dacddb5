"""Lists of which items are left out elsewhere."""

import ast

import pytest

from quickfit.patterns.short_lists import ShortTracer, shortened

from programs import program_of

FINE = "def fine(items):\n    return [i for i in items if ok(i)]\n"
LOOP = "def fine(items):\n    kept = []\n    for i in items:\n{body}    return kept\n"
LISTS = "paths = sorted(listed())\nlabels = [of(p) for p in paths]\n"
USED = "use(paths, labels[: len(paths)])\n"


def found(text, *, is_silent=False):
    program = program_of(text)
    module = program.module("/project/train.py")
    (call,) = module.calls("use")
    pair = (call.args[0], call.args[1])
    return shortened(ShortTracer(program, module), call, pair, is_silent=is_silent)


def loop(*body):
    return LOOP.format(body="".join(f"        {line}\n" for line in body))


@pytest.mark.parametrize(
    "fine",
    [
        FINE,
        "def fine(items, least=3):\n    good = [i for i in items if ok(i)]\n    return good\n",
        "def inner(a):\n    return list(a)\n" + FINE,
        "def inner(a):\n    return [i for i in a if ok(i)]\n"
        "def fine(items):\n    return inner(items)\n",
        loop("if ok(i):", "    kept.append(i)"),
        loop("size = measured(i)", "if size < 9:", "    continue", "kept.append(i)"),
        loop("try:", "    read(i)", "except OSError:", "    continue", "kept.append(i)"),
    ],
)
def test_a_function_leaves_items_out(fine):
    parting = found(fine + LISTS + "paths = fine(paths)\n" + USED)
    assert parting is not None
    assert ast.unparse(parting.at) == "labels[:len(paths)]"
    assert "`paths`" in parting.summary
    assert "`labels`" in parting.summary


def test_a_use_that_takes_any_lengths_tells_where_items_are_left_out():
    text = FINE + LISTS + "paths = fine(paths)\nuse(paths, labels)\n"
    assert found(text) is None  # the lengths do not fit, which is noticed
    parting = found(text, is_silent=True)
    assert parting is not None
    assert ast.unparse(parting.at) == "fine(paths)"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(FINE + LISTS + USED, id="nothing left out"),
        pytest.param(
            FINE + "paths = fine(sorted(listed()))\nlabels = [of(p) for p in paths]\n" + USED,
            id="left out before",
        ),
        pytest.param(
            FINE + LISTS + "paths = fine(paths)\nlabels = fine(labels)\n" + USED, id="of both"
        ),
        pytest.param(
            FINE + "paths = sorted(listed())\nlabels = table()\npaths = fine(paths)\n" + USED,
            id="labels from elsewhere",
        ),
        pytest.param(
            "def fine(items):\n    return list(items)\n" + LISTS + "paths = fine(paths)\n" + USED,
            id="a copy",
        ),
        pytest.param(
            "from other import fine\n" + LISTS + "paths = fine(paths)\n" + USED, id="unknown"
        ),
        pytest.param(
            "def fine(items):\n    return [i for i in other if ok(i)]\n"
            + LISTS
            + "paths = fine(paths)\n"
            + USED,
            id="of another list",
        ),
        pytest.param(
            loop("kept.append(i)") + LISTS + "paths = fine(paths)\n" + USED, id="all appended"
        ),
        pytest.param(
            loop("if len(kept) < 9:", "    kept.append(i)")
            + LISTS
            + "paths = fine(paths)\n"
            + USED,
            id="the first ones",
        ),
        pytest.param(
            loop("if stop(i):", "    break", "kept.append(i)")
            + LISTS
            + "paths = fine(paths)\n"
            + USED,
            id="up to one",
        ),
    ],
)
def test_stays_silent_on(text):
    assert found(text) is None
