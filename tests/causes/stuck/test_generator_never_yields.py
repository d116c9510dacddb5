"""`generator-never-yields`: what was said while the run was quiet is what the report says."""

import dataclasses

import pytest

from quickfit.causes import catalogue
from quickfit.causes.stuck.generator_never_yields import (
    CAUSE,
    _how_often,
    detect,
    show_silent_generator,
    show_swallowed_errors,
)
from quickfit.findings import Effect, FixClass, Symptom
from scenes import (
    SCRIPT,
    STUCK,
    TWINS,
    at,
    fit,
    library,
    main_in_fit,
    making,
    raised,
    scene,
    thread,
    user,
)
from scenes import generator as scene_generator
from silences import noted, quiet_run

from builders import run
from programs import fixed, lines, spots

fix = catalogue()["generator-never-yields"].fix


def test_fires_with_what_was_seen_and_where():
    found = detect(quiet_run(noted("generator-never-yields")))
    assert found is not None
    assert (found.summary, found.where.line) == ("generator-never-yields was seen", 6)
    assert [one.value for one in found.evidence] == [1.0, 31.0, 31.0]
    assert not found.is_past
    assert CAUSE.symptom == Symptom.STUCK


def test_a_run_that_went_on_is_told_of_in_the_past():
    found = detect(quiet_run(noted("generator-never-yields", moved_again_s=1050.0)))
    assert found.is_past
    assert found.evidence[-1].detail == "a step came later"


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="a healthy run"),
        pytest.param(quiet_run(), id="a run that was looked at and moved"),
        pytest.param(quiet_run(noted("empty-input")), id="empty-input"),
    ],
)
def test_stays_silent_on(signals):
    assert detect(signals) is None


def test_the_fix_shows_code_that_counts_what_is_skipped():
    signals = quiet_run(noted("generator-never-yields"))
    shown = fix(detect(signals), signals)
    assert shown.kind == FixClass.SHOW_ONLY
    assert "skipped += 1" in shown.example


HEAD = "import keras\nimport numpy as np\nfrom PIL import Image\n"
PLAIN = (
    HEAD
    + """
def batches(paths, labels, size):
    while True:
        for at in range(0, len(paths), size):
            images, marks = [], []
            for path, label in zip(paths[at:at + size], labels[at:at + size]):
                try:
                    image = np.array(Image.open(path))
                except FileNotFoundError:
                    continue
                images.append(image)
                marks.append(label)
            if len(images) > 0:
                yield np.array(images), np.array(marks)
"""
)


def generator(*body):
    """Return a program whose endless generator has this in the loop over its paths."""
    indented = "".join(f"            {line}\n" for line in "\n".join(body).splitlines())
    head = "def batches(paths):\n    got = []\n    while True:\n        for path in paths:\n"
    return HEAD + head + indented


TRY = "try:\n    image = np.load(path)\nexcept OSError:\n    continue"
PASS = "try:\n    got.append(np.load(path))\nexcept:\n    pass"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN, id="batches of what could be read"),
        pytest.param(generator(TRY, "yield image, 0"), id="each by itself"),
        pytest.param(
            generator(PASS, "if len(got) == 8:", "    yield np.array(got)"), id="collected"
        ),
        pytest.param(generator(PASS, "if not got:", "    continue", "yield got"), id="not yet"),
        pytest.param(
            generator("image = None", TRY.replace("continue", "pass"), "if image is not None:")
            + "                yield image\n",
            id="None",
        ),
        pytest.param(
            generator(
                "try:", "    yield np.load(path), 1", "except Exception as error:", "    pass"
            ),
            id="yielded in the try",
        ),
        pytest.param(
            HEAD
            + "def load(path):\n    try:\n        return np.load(path)\n    except Exception:\n"
            + "        return None\n"
            + "def batches(paths):\n    while True:\n        for path in paths:\n"
            + "            image = load(path)\n            if image is None:\n"
            + "                continue\n            yield image, 0\n",
            id="caught in a function it calls",
        ),
        pytest.param(
            "import keras, cv2\ndef batches(paths):\n    while True:\n        for path in paths:\n"
            + "            image = cv2.imread(path)\n            if image is not None:\n"
            + "                yield image, 0\n",
            id="OpenCV says nothing",
        ),
        pytest.param(
            HEAD + "import random\ndef batches(paths):\n    while True:\n"
            "        path = random.choice(paths)\n        try:\n            x = np.load(path)\n"
            "        except OSError:\n            continue\n        yield x, 0\n",
            id="by chance",
        ),
    ],
)
def test_reports_from_text(text):
    (spot,) = spots(CAUSE, text)
    assert spot.effect is Effect.HANGS
    assert not spot.is_hint
    line = text.lstrip("\n").splitlines()[spot.where.line - 1]
    assert "except" in line or "imread" in line


STREAM = """
import numpy as np

class Stream:
    def __init__(self, paths):
        self.paths = paths

    def _endless(self):
        while True:
            for path in self.paths:
                try:
                    yield np.load(path)
                except (OSError, ValueError):
                    pass

    def batches(self):
        source = self._endless()
        while True:
            yield np.stack([next(source) for _ in range(8)])
"""
FIT = "import keras\nfrom stream import Stream\nkeras.Sequential().fit(Stream(x).batches())\n"


@pytest.mark.parametrize(
    ("train", "found"),
    [
        pytest.param(FIT, [12], id="a method that another one calls for a training"),
        pytest.param(FIT.replace("batches", "names"), [], id="the training takes something else"),
        pytest.param("import keras\nkeras.Sequential().fit(x)\n", [], id="no training with it"),
    ],
)
def test_follows_methods_into_files_without_keras(train, found):
    assert lines(CAUSE, {"train.py": train, "stream.py": STREAM}, "stream.py") == found


def test_names_the_generator_and_the_clause():
    (spot,) = spots(CAUSE, PLAIN)
    assert spot.summary == (
        "if this fails for every sample, `batches` goes round for ever without a batch: "
        "`except FileNotFoundError` skips each of them, and nobody hears of it"
    )


def test_a_clause_that_says_what_it_skips_is_a_hint():
    text = generator(TRY.replace("continue", "print(path)\n    continue"), "yield image, 0")
    assert [spot.is_hint for spot in spots(CAUSE, text)] == [True]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN.replace("while True", "for _ in range(9)"), id="it ends"),
        pytest.param(PLAIN.replace("continue", "raise"), id="it raises"),
        pytest.param(PLAIN.replace("continue", "image = np.zeros((8, 8))"), id="it has another"),
        pytest.param(
            PLAIN.replace("            if len(images) > 0:\n    ", ""), id="empty batches"
        ),
        pytest.param(PLAIN.replace("FileNotFoundError", "KeyError"), id="no matter of files"),
        pytest.param(PLAIN.replace("import keras\n", ""), id="nothing to do with Keras"),
        pytest.param(
            generator(TRY.replace("continue", "import time\n    time.sleep(1)"), "yield path"),
            id="it waits and goes on",
        ),
        pytest.param(
            generator(TRY.replace("continue", "time.sleep(1)\n    continue"), "yield image"),
            id="it waits",
        ),
        pytest.param(
            generator("try:", "    image = q.get(timeout=1)", "except Exception:", "    continue")
            + "            yield image\n",
            id="a queue",
        ),
        pytest.param(
            generator(
                TRY.replace("continue", "bad += 1\n    if bad > 9:\n        raise\n    continue")
            )
            + "            yield image\n",
            id="it gives up",
        ),
        pytest.param(
            HEAD + "def batches(it):\n    while True:\n        try:\n            x = next(it)\n"
            "        except StopIteration:\n            it = iter([1])\n            continue\n"
            "        yield x\n",
            id="it begins again",
        ),
    ],
)
def test_stays_silent_on_text(text):
    assert lines(CAUSE, text) == []


def test_raises_the_first_error_after_a_round_in_which_nothing_was_read():
    text = PLAIN.lstrip("\n")
    after = text.replace(
        "        for at in range",
        "        has_read, first_error = False, None\n        for at in range",
    )
    after = after.replace(
        "Image.open(path))\n", "Image.open(path))\n                    has_read = True\n"
    )
    after = after.replace(
        "FileNotFoundError:\n",
        "FileNotFoundError as error:\n                    first_error = first_error or error\n",
    )
    after = after.rstrip("\n") + (
        "\n        if first_error is not None and not has_read:\n            raise first_error\n"
    )
    assert fixed(CAUSE, PLAIN) == after
    assert spots(CAUSE, PLAIN)[0].change.kind is FixClass.REPAIRS
    assert spots(CAUSE, after) == []


@pytest.mark.parametrize(
    ("existing", "expected"),
    [((), "'0.npy'"), (("1.npy",), 1), (("0.npy", "1.npy", "2.npy"), 3)],
)
def test_the_changed_generator_fails_only_if_nothing_can_be_read(existing, expected):
    body = generator(TRY.replace("np.load", "load"), "yield path").replace(HEAD, "import keras\n")
    code = fixed(CAUSE, body).replace("import keras\n", "")

    def load(path):
        if path not in existing:
            raise FileNotFoundError(2, "No such file or directory", path)

    names = {"load": load}
    exec(code, names)
    batches = names["batches"](["0.npy", "1.npy", "2.npy"])
    if existing:
        assert {next(batches) for _ in range(9)} == set(existing)
        assert len(existing) == expected
    else:
        with pytest.raises(FileNotFoundError, match=expected):
            next(batches)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("except:\n", "except Exception as error:\n"),
        ("except (OSError, ValueError):\n", "except (OSError, ValueError) as error:\n"),
        ("except (OSError):\n", "except (OSError) as error:\n"),
        ("except OSError as problem:\n", "except OSError as problem:\n"),
    ],
)
def test_gives_the_error_a_name(before, after):
    text = generator(TRY.replace("except OSError:\n", before), "yield image")
    assert after in fixed(CAUSE, text)
    name = "problem" if "problem" in after else "error"
    assert f"first_error = first_error or {name}\n" in fixed(CAUSE, text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            HEAD + "import random\ndef batches(paths):\n    while True:\n"
            "        for _ in range(8):\n            path = random.choice(paths)\n"
            "            try:\n                x = np.load(path)\n"
            "            except OSError:\n                continue\n            yield x, 0\n",
            id="a round is not the whole data",
        ),
        pytest.param(generator("first_error = 1", TRY, "yield image"), id="the name is taken"),
        pytest.param(
            HEAD + "def batches(paths):\n    while True:\n        path = paths.sample()\n"
            "        try: x = np.load(path)\n        except OSError: continue\n        yield x\n",
            id="one at a time",
        ),
    ],
)
def test_offers_no_change_where_it_could_end_a_run_that_works(text):
    assert [spot.change for spot in spots(CAUSE, text)] == [None]


def test_the_exception_its_line_and_how_often_are_told():
    found = show_swallowed_errors(STUCK["generator-never-yields"])
    assert found.is_certain
    assert (found.where, found.also) == (at("image = load(path)"), at("except Exception"))
    assert "FileNotFoundError is raised and swallowed 4,500 times a second" in found.summary
    assert "batch 1 never comes" in found.summary
    assert "No such file or directory: 'a.jpg'" in found.summary


def changed(name, **given):
    return dataclasses.replace(STUCK[name], **given)


def test_a_generator_that_skips_most_files_is_given_until_the_limit():
    """Nine of ten files are missing, and the tenth takes a third of a second."""
    one = raised(6)
    found = show_swallowed_errors(changed("generator-never-yields", raised=(one,), still_s=10.0))
    assert not found.is_certain


def test_a_loop_of_the_scripts_own_over_a_generator_that_swallows_is_told_after_the_limit():
    inside = (user("image = load(path)"), user("answer = input", "<module>"))
    main = thread("main", *inside, cores=1.0, waits_in="")
    found = show_swallowed_errors(scene(threads=(main,), raised=(raised(),)))
    assert (found.cause, found.is_certain) == ("generator-never-yields", False)


def test_data_that_is_read_with_errors_before_any_loop_is_no_generator():
    main = thread("main", user("text = open", "read"), cores=1.0, waits_in="")
    assert show_swallowed_errors(scene(threads=(main,), raised=(raised(),))) is None


def test_a_long_message_is_cut_and_kept_on_one_line():
    one = dataclasses.replace(raised(), message="no\nsuch " + "x" * 500)
    found = show_swallowed_errors(changed("generator-never-yields", raised=(one,)))
    assert "\n" not in found.summary
    assert len(found.summary) < 250


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"raised": (raised(4),)}, id="few exceptions"),
        pytest.param({"raised": ()}, id="none was looked at"),
        pytest.param({"raised": (raised(place=None),)}, id="none of the user's lines"),
        pytest.param({"still_s": 0.1}, id="something came meanwhile"),
    ],
)
def test_swallowed_exceptions_are_no_reason_with(given):
    assert show_swallowed_errors(changed("generator-never-yields", **given)) is None


def test_exceptions_of_a_run_without_any_python_input_are_no_reason():
    threads = (main_in_fit(),)
    assert show_swallowed_errors(scene(loop=fit(), threads=threads, raised=(raised(),))) is None


def test_a_generator_that_sleeps_is_told_with_its_line_and_what_it_waits_in():
    found = show_silent_generator(STUCK["generator-never-yields, asleep"])
    assert found.where == at("image = load(path)")
    assert (
        "has given 5 batches and no more: it waits at train.py:7 (clock_nanosleep)" in found.summary
    )
    assert not found.is_certain  # it may come back


def test_a_generator_that_has_given_batches_and_now_only_computes_is_told():
    maker = making(user("image = load(path)"), cores=1.0, waits_in="", share=0.4)
    found = show_silent_generator(
        scene(loop=fit(), threads=(maker,), inputs=(scene_generator(batches=5),))
    )
    assert "runs and gives nothing" in found.summary


def test_a_busy_first_batch_that_will_be_given_is_waited_for():
    assert show_silent_generator(TWINS["generator-never-yields, asleep"]) is None


def test_the_first_batch_of_a_loop_without_a_yield_is_not_waited_for():
    source = "def batches():\n    while True:\n        collect()\n    yield 1\n"
    peek = (
        user("collect()", source=source),
        library("keras/src/trainers/data_adapters/generator_data_adapter.py", "peek"),
    )
    main = thread("main", *peek, cores=1.0, waits_in="")
    found = show_silent_generator(scene(threads=(main,), sources={SCRIPT: source}))
    assert found.cause == "generator-never-yields"


def test_a_generator_that_sleeps_here_and_there_moves():
    maker = making(user("image = load(path)"), share=0.4, waits_in="clock_nanosleep")
    given = scene(loop=fit(), threads=(maker,), inputs=(scene_generator(batches=5),))
    assert show_silent_generator(given) is None


def test_a_rate_below_one_a_second_is_told_in_words():
    assert _how_often(0.2) == "again and again"
