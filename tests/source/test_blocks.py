"""Blocks around a line: loops, locks, and the guard of a script."""

import pytest

from quickfit.source.blocks import (
    held_names,
    is_endless,
    is_guarded,
    is_loop_header,
    loop_around,
    loop_without_yield,
)

BROKEN = "def f(:\n"


def line(text, part):
    return next(n for n, one in enumerate(text.split("\n"), 1) if part in one)


# -- locks --------------------------------------------------------------------------------------

LOCKS = """\
def load(self):
    with self._lock, open(path) as file:
        first()
    outside()

def by_hand(lock):
    lock.acquire()
    second()
    lock.release()
    third()

async def both(reader):
    async with reader.gate:
        with threading.Lock():
            fourth()
"""


@pytest.mark.parametrize(
    ("part", "names"),
    [
        ("first()", {"_lock", "open"}),
        ("with self._lock", set()),
        ("outside()", set()),
        ("second()", {"lock"}),
        ("third()", set()),
        ("fourth()", {"gate", "Lock"}),
    ],
)
def test_what_is_held_at_a_line(part, names):
    assert held_names(LOCKS, line(LOCKS, part)) == names


def test_a_lock_that_was_taken_at_the_top_is_held_below():
    assert held_names("lock.acquire()\nrefresh()\n", 2) == {"lock"}


# -- loops --------------------------------------------------------------------------------------

LOOPS = """\
def batches(paths):
    while True:
        for path in paths:
            image = load(path)
            yield image
        again()

def collects(paths):
    while True:
        items = []
        for path in paths:
            items.append(load2(path))

async def later():
    async for item in stream:
        use(item)
"""


def test_a_loop_begins_at_its_header():
    assert is_loop_header(LOOPS, 2)
    assert is_loop_header(LOOPS, 3)
    assert is_loop_header(LOOPS, line(LOOPS, "async for"))
    assert not is_loop_header(LOOPS, 4)
    assert not is_loop_header(LOOPS, 1)


@pytest.mark.parametrize(
    ("part", "header"),
    [
        ("image = load", "for path"),
        ("again()", "while True"),
        ("items.append", "for path in paths"),
        ("use(item)", "async for"),
    ],
)
def test_the_innermost_loop_around_a_line(part, header):
    found = loop_around(LOOPS, line(LOOPS, part))
    assert header in LOOPS.split("\n")[found.lineno - 1]


def test_a_header_is_inside_the_loop_around_it_and_not_inside_itself():
    assert loop_around(LOOPS, 3).lineno == 2
    assert loop_around(LOOPS, 2) is None


def test_a_loop_that_gives_nothing():
    assert loop_without_yield(LOOPS, line(LOOPS, "items.append"))
    assert not loop_without_yield(LOOPS, line(LOOPS, "image = load"))
    assert not loop_without_yield(LOOPS, 1)


# -- endless generators --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "while True:\n        yield 1",
        "while 1:\n        for x in y:\n            if x: break\n            yield x",
        "data = load()\n    while True:\n        yield from data",
    ],
    ids=["while True", "a break of an inner loop", "yield from"],
)
def test_a_generator_is_endless(body):
    text = f"def batches():\n    {body}\n"
    assert is_endless(text, 1)
    assert is_endless(text, 3)


@pytest.mark.parametrize(
    "body",
    [
        "for x in y:\n        yield x",
        "while True:\n        yield 1\n        break",
        "while True:\n        if done:\n            return\n        yield 1",
        "while True:\n        if done:\n            raise ValueError\n        yield 1",
        "while more:\n        yield 1",
        "while True:\n        work()",
        "while True:\n        def inner():\n            yield 1\n        inner()",
    ],
    ids=["a for", "a break", "a return", "a raise", "a condition", "no yield", "a function inside"],
)
def test_a_generator_may_end(body):
    assert not is_endless(f"def batches():\n    {body}\n", 1)


def test_a_line_outside_any_function_is_no_generator():
    assert not is_endless("while True:\n    work()\n", 2)


# -- the guard -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "test",
    [
        '__name__ == "__main__"',
        '"__main__" == __name__',
        '__name__ == "__main__" and not dry',
        "multiprocessing.parent_process() is None",
        'multiprocessing.current_process().name == "MainProcess"',
    ],
)
def test_a_line_is_guarded_by(test):
    assert is_guarded(f"import x\nif {test}:\n    pool = Pool()\n", 3)


@pytest.mark.parametrize(
    "text",
    [
        "import x\n\npool = Pool()\n",
        "import x\nif options.parallel:\n    pool = Pool()\n",
        'if __name__ == "__main__":\n    main()\npool = Pool()\n',
    ],
    ids=["at the top", "another condition", "after the guard"],
)
def test_a_line_is_not_guarded(text):
    assert not is_guarded(text, 3)


def test_nothing_is_known_of_a_text_that_is_no_python():
    assert held_names(BROKEN, 1) == set()
    assert not is_loop_header(BROKEN, 1)
    assert loop_around(BROKEN, 1) is None
    assert not is_endless(BROKEN, 1)
    assert not is_guarded(BROKEN, 1)
