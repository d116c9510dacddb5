"""Names of files under which Keras 3 saves nothing."""

import pytest

from quickfit.patterns.file_names import refused_names

from programs import program_of

HEAD = "import os\nimport keras\nfrom pathlib import Path\nmodel = keras.Sequential()\n"


def endings(text):
    program = program_of(HEAD + text)
    module = program.module("/project/train.py")
    return [each.endings[0] for each in refused_names(program, module)]


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("model.save('a')\n", ".keras"),
        ("model.save(f'{a}/b')\n", ".keras"),
        ("model.save(os.path.join(a, 'h5'))\n", ".keras"),
        ("model.save(str(Path('a') / 'b'))\n", ".keras"),
        ("model.save('a' if b else 'c')\n", ".keras"),
        ("model.save_weights('a.h5')\n", ".weights.h5"),
        ("model.save_weights(Path('weights.h5'))\n", ".weights.h5"),
        ("keras.callbacks.ModelCheckpoint('a.hdf5')\n", ".keras"),
        ("keras.callbacks.ModelCheckpoint('a.keras', save_weights_only=True)\n", ".weights.h5"),
    ],
)
def test_knows_names_that_are_refused(text, ending):
    assert endings(text) == [ending]


@pytest.mark.parametrize(
    "text",
    [
        *("model.save('a.keras')\n", "model.save('a.hdf5')\n", "model.save(a)\n"),
        *("model.save(f'a.{b}')\n", "model.save(a + 'h5')\n", "model.save('a' if b else c)\n"),
        *("model.save('a', zipped=False)\n", "model.save('hf://a')\n", "model.save(**a)\n"),
        *("model.save_weights(a + '.h5')\n", "figure.save('a')\n", "model.save('')\n"),
        "keras.callbacks.ModelCheckpoint('a.keras', save_weights_only=a)\n",
    ],
)
def test_knows_names_that_may_be_taken(text):
    assert endings(text) == []
