"""Lines that open a file and do not close it."""

import pytest

from quickfit.source.opened import opened


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
    (one,) = opened(text)
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
    assert opened(text) == []
