"""Blocks around a line: loops, locks, and the guard of a script."""

import textwrap

import pytest

from quickfit.code.lines import (
    calls_around,
    feeding_lines,
    held_names,
    is_endless,
    is_guarded,
    is_in_generator,
    is_loop_header,
    is_run_often,
    loop_around,
    loop_end,
    loop_line,
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


TEXT = textwrap.dedent(
    """\
    import tensorflow as tf

    while True:
        batch = next(batches)
        step(batch)

    while (
        step_number < limit
        and is_better
    ):
        step(next(batches))

    for batch in ds:
        while improves():
            step(batch)

    losses = [
        step(batch)
        for batch in ds
    ]

    while waits: pass
    """
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(3, 3, id="the while itself"),
        pytest.param(4, 3, id="the first line of an endless while"),
        pytest.param(5, 5, id="a later line of its body is not its begin"),
        pytest.param(8, 7, id="the test on a line of its own"),
        pytest.param(9, 7, id="the second part of a test"),
        pytest.param(11, 7, id="the first line after a test of many lines"),
        pytest.param(13, 13, id="a for"),
        pytest.param(14, 14, id="a while inside a for"),
        pytest.param(15, 14, id="the first line of the inner one"),
        pytest.param(19, 19, id="a comprehension"),
        pytest.param(22, 22, id="a while on one line"),
        pytest.param(1, 1, id="no loop"),
        pytest.param(99, 99, id="beyond the end"),
        pytest.param(0, 0, id="no line"),
    ],
)
def test_the_line_of_a_loop_is_that_of_its_statement(line, expected):
    assert loop_line(TEXT, line) == expected


def test_of_two_loops_that_begin_together_it_is_the_inner_one():
    text = "while a:\n    while b:\n        step()\n"
    assert [loop_line(text, line) for line in (1, 2, 3)] == [1, 2, 2]


def test_a_for_that_is_the_first_line_of_a_while_is_itself():
    text = "while True:\n    for batch in ds:\n        step(batch)\n"
    assert loop_line(text, 2) == 2


def test_an_asynchronous_loop_is_itself():
    text = "async def main():\n    while True:\n        async for b in ds:\n            step(b)\n"
    assert loop_line(text, 3) == 3


@pytest.mark.parametrize("text", ["", "while True\n    step(\n", "\x00", "%matplotlib inline\n"])
def test_a_text_that_cannot_be_parsed_leaves_the_line(text):
    assert loop_line(text, 2) == 2


TEXT_SCOPES = """\
import keras

def build():
    model = keras.Sequential([])
    return model

model = build()
for epoch in range(3):
    model.compile("adam")
    while improves():
        model.fit(x, y)
done()
"""


@pytest.mark.parametrize(
    ("line", "expected"), [(4, True), (7, False), (9, True), (11, True), (12, False)]
)
def test_a_line_in_a_loop_or_a_function_may_run_often(line, expected):
    assert is_run_often(TEXT_SCOPES, line) is expected


def test_the_innermost_one_tells_what_is_called_there():
    assert calls_around(TEXT_SCOPES, 4) == {"Sequential"}
    assert calls_around(TEXT_SCOPES, 11) == {"improves", "fit"}
    assert calls_around(TEXT_SCOPES, 9) == {"range", "compile", "improves", "fit"}
    assert calls_around(TEXT_SCOPES, 12) == set()


def test_a_loop_ends_at_its_last_line():
    assert loop_end(TEXT_SCOPES, 8) == 11
    assert loop_end(TEXT_SCOPES, 10) == 11
    assert loop_end(TEXT_SCOPES, 3) == 3


def test_what_is_no_python_has_no_loops():
    assert loop_end("for", 1) == 1
    assert not is_run_often("for", 1)
    assert calls_around("for", 1) == set()


TEXT_FLOWS = textwrap.dedent(
    """\
    images = load()
    scale = 255.0
    for start in range(0, 100, 10):
        chosen = order[start:start + 10]
        batch = images[chosen]
        if flip:
            batch = batch[:, ::-1]
        batch = (
            batch / scale
        )
        loss = train_step(batch)
        print(loss)

    def sample(n):
        rows = [memory[i] for i in pick(n)]
        names = read()
        states = tf.constant(
            np.array(rows))
        return states

    for batch in batches():
        step(batch)
        other()
    """
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            11, {3, 4, 5, 7, 8, 9, 10, 11}, id="all of a batch, not what is before the loop"
        ),
        pytest.param(5, {3, 4, 5}, id="the first of several of the same name"),
        pytest.param(12, {3, 4, 5, 7, 8, 9, 10, 11, 12}, id="what a step gives"),
        pytest.param(18, {15, 17, 18}, id="in a function, over lines"),
        pytest.param(22, {21, 22}, id="a generator at the head of the loop"),
        pytest.param(23, {23}, id="not what has nothing to do with it"),
        pytest.param(2, {2}, id="alone"),
        pytest.param(99, {99}, id="beyond the end"),
    ],
)
def test_lines_that_feed_a_line(line, expected):
    assert feeding_lines(TEXT_FLOWS, line) == expected


def test_a_text_that_is_no_python_tells_only_the_line():
    assert feeding_lines("for :", 1) == {1}


@pytest.mark.parametrize(("line", "end"), [(3, 12), (4, 4), (14, 14), (99, 99)])
def test_the_end_of_a_loop(line, end):
    assert loop_end(TEXT_FLOWS, line) == end


TEXT_YIELDS = """\
def batches():
    while True:
        rows = draw()
        yield rows

def plain():
    rows = [row for row in draw()]
    return rows

def outer():
    def inner():
        yield 1
    return inner()

x = 1
"""


@pytest.mark.parametrize(("line", "is_inside"), [(3, True), (7, False), (12, True), (13, False)])
def test_the_innermost_function_decides(line, is_inside):
    assert is_in_generator(TEXT_YIELDS, line) is is_inside


def test_text_outside_functions_and_broken_text_are_no_generators():
    assert not is_in_generator(TEXT_YIELDS, 15)
    assert not is_in_generator("def (", 1)
