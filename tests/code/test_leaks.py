"""Lines that keep something for good, as their text says."""

import pytest

from quickfit.code.leaks import additions_to, keepers, line_of_function, unclosed_files

HEAD = "losses = []\ncache = {}\n"


def found(body, head=HEAD):
    """Return the keepers of a loop with this body."""
    text = head + "for step in range(9):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    return [(k.holder, k.kind, k.is_by_key) for k in keepers(text)]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("losses.append(train_step(x))", "unknown"),
        ("loss = train_step(x)\nlosses.append(loss)", "unknown"),
        ("losses += [loss]", "unknown"),
        ("losses.append((x, float(y)))", "unknown"),
        ("losses.append(tf.reduce_mean(x))", "unknown"),
        ("losses.append(float(loss))", "plain"),
        ("value = loss.numpy().item()\nlosses.append(value)", "plain"),
        ("losses.append(model.train_on_batch(x, y))", "plain"),
        ("losses.append(logs['loss'])", "plain"),
        ("losses.append(f'{loss:.3f}')", "plain"),
        ("losses.append(np.copy(x))", "array"),
        ("losses.append(features.numpy())", "array"),
        ("losses.extend(rng.random(9))", "array"),
    ],
)
def test_what_goes_into_a_list_is_told(body, kind):
    assert found(body) == [("losses", kind, False)]


def test_what_goes_in_under_a_key_may_be_a_cache():
    assert found("cache[step] = make(x)") == [("cache", "unknown", True)]
    assert found("cache.setdefault(step, []).append(x)") == [("cache", "unknown", False)]
    assert found("cache['newest'] = make(x)") == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("batch = []\nbatch.append(x)", id="made anew in each turn"),
        pytest.param("losses.append(x)\nlosses.clear()", id="emptied"),
        pytest.param("losses.append(x)\nlosses.pop(0)", id="taken out"),
        pytest.param("losses.append(x)\ndel losses[0]", id="deleted"),
        pytest.param("losses.append(x)\nlosses = losses[-9:]", id="cut"),
    ],
)
def test_a_container_that_does_not_hold_all_is_left_out(body):
    assert found(body) == []


def test_a_deque_with_a_length_is_left_out():
    assert found("losses.append(x)", "losses = deque(maxlen=9)\n") == []
    assert found("losses.append(x)", "losses = deque()\n") != []


METHODS = """\
class Keep(Callback):
    def __init__(self):
        self.all = []
        self.some = []

    def on_epoch_begin(self, epoch, logs=None):
        self.some = []

    def on_train_batch_end(self, batch, logs=None):
        self.all.append(self.model.get_weights())
        self.some.append(self.model.get_weights())

def load():
    paths = []
    for path in folder:
        paths.append(path)
    return paths
"""


def test_what_another_method_makes_again_is_left_out():
    assert [(k.holder, k.function) for k in keepers(METHODS)] == [
        ("self.all", "on_train_batch_end"),
        ("paths", "load"),
    ]


def test_broken_text_has_none():
    assert keepers("for x in:\n") == []


ADDS = """\
history = []
class Loader:
    def load(self, i):
        if i not in self.seen:
            self.seen[i] = read(i)
        self.last = i
def train():
    for x in ds:
        memory.assign(tf.concat([memory, x], 0))
        rows = np.concatenate([rows, x])
        history.append(x)
        history[0] = x
    table.update(x)
    history.append(0)
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("history", [(11, "train", "", False, True), (14, "train", "", False, False)]),
        ("self.seen", [(5, "load", "Loader", True, False)]),
        (".seen", [(5, "load", "Loader", True, False)]),
        ("memory", [(9, "train", "", False, True)]),
        ("rows", [(10, "train", "", False, True)]),
        ("table", [(13, "train", "", True, False)]),
        ("self.last", []),
        ("x", []),
    ],
)
def test_the_lines_that_add_to_a_name_are_found(name, expected):
    found = additions_to(ADDS, name)
    assert [(a.line, a.function, a.owner, a.is_by_key, a.in_loop) for a in found] == expected


def test_a_text_that_is_no_python_adds_nothing():
    assert additions_to("for x in", "x") == []
    assert line_of_function("def", "f") is None
    assert line_of_function(ADDS, "load") == 3


@pytest.mark.parametrize(
    ("text", "line", "is_kept"),
    [
        ("def f():\n    files.append(open(p))\n", 2, True),
        ("def f():\n    file = open(p)\n    files.append(file)\n", 2, True),
        ("def f():\n    files[p] = h5py.File(p)\n", 2, True),
        ("def f():\n    file = open(p)\n    files[p] = file\n", 2, True),
        ("def f():\n    shard = np.load(p)\n    files.append(shard)\n", 2, True),
        ("def f():\n    self.file = open(p)\n", 2, False),
        ("def f():\n    return decode(open(p))\n", 2, False),
    ],
)
def test_an_open_without_a_close_is_found(text, line, is_kept):
    (one,) = unclosed_files(text)
    assert (one.line, one.is_kept, one.function) == (line, is_kept, "f")


@pytest.mark.parametrize(
    "text",
    [
        "with open(p) as file:\n    file.read()\n",
        "data = open(p).read()\n",
        "file = open(p)\nfile.close()\n",
        "file = open(p)\nwith file:\n    pass\n",
        "stack.enter_context(open(p))\n",
        "array = np.load(p)\n",
        "data = json.load(file)\nfound.append(data)\n",
        "with open(p:\n",
    ],
)
def test_what_is_closed_is_left_out(text):
    assert unclosed_files(text) == []
