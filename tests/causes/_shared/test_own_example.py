"""The example of a fix has the sizes and names of the user where they are certain."""

import ast
from dataclasses import replace

import pytest

from quickfit.causes._shared.own_example import (
    SIZES_ARE_EXAMPLES,
    ImageInput,
    image_input,
    own_image_fix,
    own_image_map,
    render_pipeline,
    render_short_way,
    with_own_sizes,
)
from quickfit.findings import Fix, FixClass, Location
from quickfit.signals import Signals

import builders

PAGE = Fix("Use tf.data", FixClass.EQUIVALENT, example="ds = ds.batch(32)", note="Look at it.")
PICTURES = [["input", "float32", [None, 128, 96, 3]], ["label", "int64", [None]]]
PHOTOS = """\
import keras
from PIL import Image

SIDE = 128
BATCH = 24

class Photos(keras.utils.PyDataset):
    def __init__(self, files, targets, batch_size):
        super().__init__()
        self.files, self.targets = files, targets
        self.batch_size = batch_size

    def __getitem__(self, i):
        some = slice(i * self.batch_size, (i + 1) * self.batch_size)
        x = [np.asarray(self.load(f)) / 255.0 for f in self.files[some]]
        return np.stack(x), np.array(self.targets[some])

    def load(self, name):
        return Image.open(name).resize((SIDE, SIDE))

train = Photos(names, numbers, BATCH)
model.fit(train, epochs=3)
"""


def signals_of(text, *, batch=PICTURES, examples=None, folders=(), fit="model.fit(", **facts):
    """Return the signals of a `fit` over Python batches of a script."""
    made = builders.recording(input="pydataset", input_wait_s=0.06, batch_s=0.095)
    lines = text.split("\n")
    number = next((n for n, line in enumerate(lines, 1) if fit in line), len(lines))
    loop = made.main.tables["loops"][0]
    loop["line"] = number
    loop["facts"] |= {"batch": batch, "batch_examples": examples, **facts}
    made.main.tables["sources"] = [{"file": builders.SCRIPT, "sha256": "", "text": text}]
    made.main.tables["data_folders"] = [
        {"folder": folder, "file_system": "ext4", "files": 3, "bytes": 9} for folder in folders
    ]
    return Signals(made)


def known_of(text, owner="Photos", **given):
    """Return what is known of the input that a class or function of a script makes."""
    line = next(n for n, row in enumerate(text.split("\n"), 1) if f" {owner}(" in row)
    return image_input(signals_of(text, **given), owner, Location(builders.SCRIPT, line))


def generator(body, call="feed(names, numbers)"):
    return f"import tensorflow as tf\ndef feed(a, b, c=None):\n{body}\nmodel.fit({call})\n"


# -- what is known -----------------------------------------------------------------------------


def test_sizes_are_those_of_the_recorded_batch():
    found = known_of(PHOTOS, examples=24)
    assert (found.height, found.width, found.channels, found.batch) == (128, 96, 3, 24)


@pytest.mark.parametrize(
    "batch",
    [
        None,
        [],
        "odd",
        [["input", "float32", [None, None, None, 3]]],
        [["input", "float32", [None, 3, 128, 128]]],
        [["input", "float32", [None, 64]]],
        [["input", "float32", [None, 8, 8, 3]], ["input", "float32", [None, 4]]],
        [*PICTURES, ["weight", "float32", [None]]],
    ],
)
def test_a_batch_that_is_not_plain_pictures_keeps_the_page_and_says_that_sizes_are_examples(batch):
    shown = own_image_fix(PAGE, signals_of(PHOTOS, batch=batch), "Photos", None)
    assert shown.example == PAGE.example
    assert shown.note == f"Look at it. {SIZES_ARE_EXAMPLES}"
    assert shown.short_way == ""


def test_names_of_files_and_labels_are_followed_through_the_class_to_its_call():
    found = known_of(PHOTOS)
    assert (found.paths, found.labels, found.dataset) == ("names", "numbers", "train")
    assert found.instead_of == "`Photos(names, numbers, BATCH)`, train.py:21"


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("    for p, y in zip(a, b):\n        yield Image.open(p), y", ("names", "numbers")),
        ("    for i in range(9):\n        yield cv2.imread(str(a[i])), b[i]", ("names", "numbers")),
        (
            "    x, y = [], []\n    for i, p in enumerate(a):\n        x.append(Image.open(p))\n"
            "        y.append(b[i])\n        yield np.stack(x), np.array(y)",
            ("names", "numbers"),
        ),
        # A folder, or one path, is no list of files.
        ("    for f in os.listdir(a):\n        yield Image.open(os.path.join(a, f)), 1", ("", "")),
        ("    yield Image.open(a), b[0]", ("", "")),
        ("    for f in a:\n        yield Image.open(f + '.jpg'), b[0]", ("", "")),
        # What becomes of a label is not known.
        ("    for p, y in zip(a, b):\n        yield Image.open(p), one_hot(y)", ("names", "")),
        # Two lists are opened.
        (
            "    for p, q in zip(a, b):\n        yield mix(Image.open(p), Image.open(q)), 1",
            ("", ""),
        ),
    ],
)
def test_a_name_is_taken_only_where_no_other_is_possible(body, names):
    found = known_of(generator(body), "feed")
    assert (found.paths, found.labels) == names


@pytest.mark.parametrize("call", ["feed(*both)", "feed(find(), numbers)", "feed(**options)"])
def test_files_that_have_no_name_of_their_own_are_not_named(call):
    body = "    for p, y in zip(a, b):\n        yield Image.open(p), y"
    assert known_of(generator(body, call), "feed").paths == ""


def test_two_calls_of_a_class_leave_its_names_open_unless_fit_says_which():
    other = PHOTOS.replace("model.fit(train", "val = Photos(others, more, 9)\nmodel.fit(train")
    assert known_of(other).paths == "names"
    assert known_of(other.replace("model.fit(train,", "model.fit(pick(),")).paths == ""


def test_constants_are_used_where_they_hold_the_recorded_number_and_never_change():
    square = [["input", "float32", [None, 128, 128, 3]], PICTURES[1]]
    found = known_of(PHOTOS, batch=square, examples=24)
    assert (found.size_name, found.batch_name) == ("SIDE", "BATCH")
    assert known_of(PHOTOS, batch=square, examples=25).batch_name == ""
    changed = PHOTOS.replace("train = ", "SIDE = 128\ntrain = ")
    assert known_of(changed, batch=square).size_name == ""


@pytest.mark.parametrize(
    ("code", "scaling"),
    [
        ("/ 255.0", " / 255.0"),
        ("/ 127.5 - 1", " / 127.5 - 1.0"),
        ("/ 255.0 - mean", None),
        ("/ 127.5", None),
        ("/ 256", None),
        ("", None),
    ],
)
def test_scaling_is_known_only_where_it_is_plain(code, scaling):
    assert known_of(PHOTOS.replace("/ 255.0", code)).scaling == scaling


@pytest.mark.parametrize(
    ("folders", "text", "folder"),
    [
        (("/d/photos/cat", "/d/photos/dog"), 'glob("photos/*/*.jpg")', "photos"),
        (("/d/photos/cat", "/d/photos/dog"), 'Path("../in/photos")', "../in/photos"),
        (("/d/photos/cat", "/d/photos/dog"), 'f("photos", "old/photos")', "/d/photos"),
        (("/d/photos/cat", "/d/photos/dog"), "", "/d/photos"),
        (("/d/photos",), 'glob("photos/*.jpg")', ""),
        (("/d/train/cat", "/d/val/cat"), 'glob("train/*")', ""),
        ((), 'glob("photos/*/*.jpg")', ""),
    ],
)
def test_the_folder_is_where_the_run_read_class_folders(folders, text, folder):
    found = known_of(f"{text}\n{PHOTOS}", folders=folders)
    assert found.folder == folder


def test_a_script_that_is_not_python_leaves_every_name_open():
    found = image_input(signals_of("class Photos(:\nmodel.fit("), "Photos", None)
    assert (found.paths, found.fit, found.tf, found.scaling) == ("", "", "", None)


# -- the example -------------------------------------------------------------------------------

KNOWN = ImageInput("Photos", 128, 128, 3, batch=24, scaling=" / 255.0")


def test_all_that_is_known_makes_code_that_fits_the_script():
    shown = own_image_fix(PAGE, signals_of(PHOTOS, examples=24), "Photos", None)
    given = known_of(PHOTOS, examples=24)
    assert shown.note == PAGE.note
    assert render_pipeline(given).split("\n") == [
        "import tensorflow as tf",
        "",
        "def load(path, label):",
        "    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)",
        "    image = tf.image.resize(image, (128, 96), antialias=True)",
        "    # what else `Photos` does to a picture goes here, with `tf.image`",
        "    return image / 255.0, label",
        "",
        "# in place of `Photos(names, numbers, BATCH)`, train.py:21",
        "train = tf.data.Dataset.from_tensor_slices(([str(path) for path in names], numbers))",
        "train = train.shuffle(len(names))",
        "train = train.map(load, num_parallel_calls=tf.data.AUTOTUNE)",
        "train = train.batch(BATCH).prefetch(tf.data.AUTOTUNE)",
        "model.fit(train, epochs=3)",
    ]
    assert render_short_way(given).split("\n") == [
        "from quickfit import data",
        "",
        'train = data.images(names, numbers, size=(128, 96), batch=BATCH, dtype="float32")',
        "model.fit(train, epochs=3)",
    ]


@pytest.mark.parametrize(
    "given",
    [
        KNOWN,
        replace(KNOWN, owner=""),
        replace(KNOWN, batch=None),
        replace(KNOWN, scaling=None),
        replace(KNOWN, is_bytes=True, scaling=""),
        replace(KNOWN, labels_are=""),
        replace(KNOWN, labels_are="", paths="files"),
        replace(KNOWN, labels_are="one-hot", folder="photos"),
        replace(KNOWN, tf="tensorflow", is_repeated=True, height=64),
        replace(KNOWN, paths="self.files", labels="self.y", size_name="S", batch_name="B"),
        replace(KNOWN, folder='a"b\\c\nd\u202e'),
    ],
)
def test_whatever_is_known_the_code_is_python(given):
    for code in (render_pipeline(given), render_short_way(given)):
        ast.parse(code)
        assert code.isascii() or code.isprintable()


def test_an_unknown_batch_size_is_said_to_be_an_example():
    for code in (
        render_pipeline(replace(KNOWN, batch=None)),
        render_short_way(replace(KNOWN, batch=None)),
    ):
        assert "# 32 is an example" in code
    assert "an example" not in render_pipeline(KNOWN) + render_short_way(KNOWN)


def test_pixels_of_unknown_scale_are_not_scaled_and_it_is_said():
    unknown = replace(KNOWN, scaling=None)
    assert "255.0" not in render_pipeline(unknown)
    assert "scale=(0, 255)" in render_short_way(unknown)
    for code in (render_pipeline(unknown), render_short_way(unknown)):
        assert "# pixels are 0 to 255 here" in code


def test_the_short_way_has_the_folder_of_the_classes_or_asks_for_it():
    assert 'data.images("photos", size=128, batch=24' in render_short_way(
        replace(KNOWN, folder="photos")
    )
    assert 'data.images("your_folder", size=128, batch=24' in render_short_way(KNOWN)


def test_the_short_way_is_left_out_where_it_has_no_such_labels():
    assert render_short_way(replace(KNOWN, labels_are="other", paths="a", labels="b")) == ""
    assert render_short_way(replace(KNOWN, labels_are="one-hot")) == ""


def test_steps_per_epoch_make_the_dataset_begin_again():
    repeated = replace(KNOWN, is_repeated=True)
    assert ".repeat()" in render_pipeline(repeated)
    assert "repeat=True" in render_short_way(repeated)
    assert known_of(PHOTOS, steps_per_epoch=9).is_repeated


@pytest.mark.parametrize("owner", ["<lambda>", "x`; rm -rf", "\x1b[31m", ""])
def test_a_name_that_is_none_is_not_repeated(owner):
    shown = own_image_fix(PAGE, signals_of(PHOTOS), owner, None)
    assert "`your code`" not in shown.example
    assert "what else your code does" in shown.example
    ast.parse(shown.example)


def test_texts_in_the_call_of_fit_cannot_break_out_of_the_code():
    odd = PHOTOS.replace("epochs=3", 'epochs=3, tag="\\n# \\x1b[2J"')
    shown = own_image_fix(PAGE, signals_of(odd), "Photos", Location(builders.SCRIPT, 7))
    assert "\x1b" not in shown.example
    assert shown.example.split("\n")[-1].startswith("model.fit(train, epochs=3, tag='\\n# ")


def test_a_map_of_pictures_shows_only_the_function_and_the_map():
    shown = own_image_map(PAGE, signals_of(PHOTOS, examples=24), "Photos", None)
    assert "from_tensor_slices" not in shown.example
    assert "(128, 96)" in shown.example
    assert own_image_map(PAGE, signals_of(PHOTOS, batch=None), "Photos", None) is None


def test_the_new_function_has_another_name_than_the_users():
    assert "def load(path, label):" in render_pipeline(KNOWN)
    again = render_pipeline(replace(KNOWN, owner="load"))
    assert "def load_picture(path, label):" in again
    assert "ds.map(load_picture, " in again


def test_an_example_of_a_page_has_the_sizes_of_the_user():
    code = "for i in range(0, 320, 32):\n    ds.batch(32)\n"
    page = replace(PAGE, example=f"image = tf.image.resize(image, (96, 96))\n{code}")
    shown = with_own_sizes(page, signals_of(PHOTOS, examples=24))
    assert shown.example == (
        "image = tf.image.resize(image, (128, 96))\nfor i in range(0, 320, 24):\n    ds.batch(24)\n"
    )
    assert shown.note == PAGE.note


@pytest.mark.parametrize(
    ("example", "given"),
    [
        ("ds.batch(32)", {"batch": PICTURES}),
        ("tf.image.resize(image, (96, 96))", {"batch": [["input", "float32", [None, 64]]]}),
        ("tf.image.resize(image, (96, 96))", {"batch": None}),
        ("tf.image.resize(image, (96, 96))", {"batch": [["input", "float32", [None, None, 9, 3]]]}),
    ],
)
def test_a_size_that_is_not_known_is_said_to_be_an_example(example, given):
    shown = with_own_sizes(replace(PAGE, example=example), signals_of(PHOTOS, **given))
    assert (shown.example, shown.note) == (example, f"Look at it. {SIZES_ARE_EXAMPLES}")


def test_an_example_without_sizes_stays_as_it_is():
    page = replace(PAGE, example="ds = ds.cache()")
    assert with_own_sizes(page, signals_of(PHOTOS, batch=None)) == page
