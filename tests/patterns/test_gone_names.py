"""Names that are gone, and the edits that write them as they are now."""

import pytest

from quickfit.fixes.change import patched
from quickfit.patterns.gone_names import gone_names

from programs import program_of


def found(text):
    program = program_of(text)
    return list(gone_names(program, program.module("/project/train.py")))


def test_tells_of_an_import_once_and_not_of_its_uses():
    text = "from keras.utils import np_utils\nnp_utils.to_categorical(y)\nnp_utils.normalize(y)\n"
    assert [each.gone.name for each in found(text)] == ["keras.utils.np_utils"]


def test_tells_of_the_longest_part_of_a_name():
    text = "import tensorflow as tf\ntf.gfile.GFile(p)\ntf.gfile.Other(p)\n"
    names = [each.gone.name for each in found(text)]
    assert names == ["tensorflow.gfile.GFile", "tensorflow.gfile"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("from keras.layers.core import Dense, Mine\n", id="a name that is not there"),
        pytest.param("from keras.layers.core import *\n", id="all names"),
        pytest.param("import keras.layers.core\n", id="a module by its full name"),
        pytest.param("from keras.utils import np_utils, normalize\n", id="beside another one"),
        pytest.param("import keras\nkeras.backend.mean(x)\n", id="no other name at hand"),
        pytest.param("from keras import layers, backend as K\nK.mean(x)\n", id="two at once"),
    ],
)
def test_offers_no_edit_for(text):
    (each,) = found(text)
    assert each.edits == ()


def test_an_import_over_lines_keeps_them():
    text = "from keras.layers.core import (  # the usual\n    Dense,\n    Dropout,\n)\n"
    (each,) = found(text)
    assert patched(text, each.edits) == text.replace("layers.core", "layers")


def test_does_not_look_at_files_without_the_libraries():
    assert found("import numpy as tf\ntf.log(2)\n") == []
    assert found("from .keras import backend as K\nK.mean(2)\n") == []
