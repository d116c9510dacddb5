"""Keywords are taken out of a call; lines, commas and comments stay."""

import pytest

from quickfit.fixes.change import patched
from quickfit.program.arguments import removed, renamed

from programs import program_of


def call_of(text):
    module = program_of({"a.py": text}).module("/project/a.py")
    return module, module.calls("fit")[0]


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("fit(x, workers=4)\n", "fit(x)\n"),
        ("fit(workers=4)\n", "fit()\n"),
        ("fit(workers=4, x=1)\n", "fit(x=1)\n"),
        ("fit(x, workers=4, y=f(1, 2))\n", "fit(x, y=f(1, 2))\n"),
        ("fit(x, workers=4, queue=[1, 2], y=3)\n", "fit(x, y=3)\n"),
        ("fit(x, workers=4, y=1, queue=2)\n", "fit(x, y=1)\n"),
        ("fit(x, workers=4,)\n", "fit(x,)\n"),
        ("m.a(1).fit(x, workers=(4))  # all\n", "m.a(1).fit(x)  # all\n"),
        (
            "fit(\n    x,  # data\n    workers=4,  # fast\n    y=1,\n)\n",
            "fit(\n    x,  # data\n    y=1,\n)\n",
        ),
        ("fit(\n    x,\n    workers=4,\n    queue=2,\n)\n", "fit(\n    x,\n)\n"),
        ("fit(\n    x,\n    workers=4\n)\n", "fit(\n    x\n)\n"),
        ("fit(x,\n    workers=4)\n", "fit(x)\n"),
        ("fit(x,  # data\n    workers=4)\n", "fit(x,  # data\n    )\n"),
        ("fit(x, y=1,\n    workers=4, z=2)\n", "fit(x, y=1,\n    z=2)\n"),
        ("fit(x, workers=4,\n    z=2)\n", "fit(x,\n    z=2)\n"),
        ("fit(x, workers=4, queue=')',\n    z=2)\n", "fit(x,\n    z=2)\n"),
    ],
)
def test_takes_keywords_away(text, new):
    module, call = call_of(text)
    assert patched(text, removed(module, call, {"workers", "queue"})) == new


def test_renames_a_keyword():
    text = "fit(x, lr = 3)\n"
    module, call = call_of(text)
    assert patched(text, [renamed(module, call, "lr", "rate")]) == "fit(x, rate = 3)\n"
    assert renamed(module, call, "other", "rate") is None
