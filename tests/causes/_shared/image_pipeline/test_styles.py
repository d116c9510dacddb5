"""Image input in many people's styles: what is followed, and the near misses that are not."""

import ast
import textwrap

import pytest

from quickfit.causes._shared.image_pipeline.generators import generator_to_dataset
from quickfit.causes.input.py_generator_input.edit_pydataset import sequence_to_dataset
from quickfit.code import Program
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass

HEAD = """\
import glob
import os
import random
import numpy as np
import keras
import tensorflow as tf
from PIL import Image
paths = sorted(glob.glob("photos/*/*.jpg"))
labels = [int(p.split("/")[1]) for p in paths]
"""
FIT = "\nmodel.fit(batches(), steps_per_epoch=9, epochs=3)\n"


def change_of(code, use=FIT, head=HEAD):
    text = head + textwrap.dedent(code) + use
    line = next(n for n, row in enumerate(text.split("\n"), 1) if "yield" in row)
    return text, generator_to_dataset(Program(texts={"t.py": text}), "t.py", line, pillow=12)


def after(code, use=FIT, head=HEAD):
    text, change = change_of(code, use, head)
    assert change is not None
    made = apply_edits(text, change.edits)
    ast.parse(made)
    assert max(len(row) for row in made.split("\n")) <= 100
    return made


RANGES = """
    pairs = list(zip(paths, labels))

    def batches(n=8):
        while True:
            random.shuffle(pairs)
            for i in range(0, len(pairs) - n + 1, n):
                x = []
                y = []
                for j in range(i, i + n):
                    path, label = pairs[j]
                    image: Image.Image = Image.open(path)
                    image = image.convert("RGB").resize((32, 32), Image.BILINEAR)
                    x.append(np.array(image) / 255.)
                    y += [label]
                yield np.array(x), keras.utils.to_categorical(y, 4)
"""


def test_items_by_their_numbers_and_lists_of_pairs_are_followed():
    made = after(RANGES)
    assert "    paths = [str(path) for path, _ in pairs]\n" in made.replace("all_", "")
    assert "keras.utils.to_categorical([label for _, label in pairs], 4)" in made
    assert "ds = ds.shuffle(len(pairs))" in made
    assert "ds = ds.batch(n, drop_remainder=True)" in made


FLIPS = RANGES.replace(
    "                    x.append(np.array(image) / 255.)",
    "                    image = np.array(image) / 255.\n"
    "                    if random.random() < 0.5:\n"
    "                        image = image[:, ::-1]\n"
    "                    x.append(image)",
)


@pytest.mark.parametrize(
    "coin",
    [
        "random.random() < 0.5",
        "np.random.rand() > .5",
        "random.getrandbits(1)",
        "np.random.randint(2) == 1",
        "random.choice([True, False])",
    ],
)
@pytest.mark.parametrize("flip", ["image[:, ::-1]", "np.fliplr(image)", "image[:, ::-1, :]"])
def test_a_flip_by_the_toss_of_a_coin_is_tensorflows(coin, flip):
    code = FLIPS.replace("random.random() < 0.5", coin).replace("image[:, ::-1]", flip)
    assert "image = tf.image.random_flip_left_right(image)\n" in after(code)
    assert change_of(code)[1].kind is FixClass.MAY_CHANGE_RESULTS


def test_a_flag_stays_in_front_of_a_flip():
    code = FLIPS.replace("if random", "if augment and random").replace("n=8", "n=8, augment=True")
    wanted = "        if augment:\n            image = tf.image.random_flip_left_right(image)\n"
    assert wanted in after(code)


def test_a_picture_that_is_converted_only_where_its_mode_is_another_is_always_so():
    code = RANGES.replace(
        'image = image.convert("RGB").resize',
        'if image.mode != "RGB":\n                        image = image.convert("RGB")\n'
        "                    image = image.resize",
    )
    assert "channels=3" in after(code)


DRAWN = """
    def batches(n=8):
        while True:
            chosen = np.random.choice(len(paths), n)
            x = [np.array(Image.open(paths[i]).convert("RGB").resize((9, 9), Image.BILINEAR))
                 for i in chosen]
            y = [labels[i] for i in chosen]
            yield np.array(x), np.array(y)
"""


def test_batches_that_are_drawn_by_chance_are_drawn_by_tensorflow():
    made = after(DRAWN)
    assert made[made.index("def batches") :].startswith(
        textwrap.dedent(
            """\
            def batches(n=8):
                all_paths = tf.constant(paths)
                all_labels = tf.constant(np.array(labels))

                def load(_):
                    number = tf.random.uniform((), maxval=len(paths), dtype=tf.int32)
                    path = all_paths[number]
                    label = all_labels[number]
                    data = tf.io.read_file(path)
            """
        )
    )
    assert "    ds = tf.data.Dataset.counter()\n" in made
    assert "repeat" not in made
    assert change_of(DRAWN)[1].kind is FixClass.MAY_CHANGE_RESULTS


LISTED = """
    def read(path):
        with Image.open(path) as im:
            return np.asarray(im.convert("RGB").resize((32, 32), Image.BILINEAR), dtype="float32")


    def batches(folder="photos", n=8):
        files, kinds = [], []
        for k, name in enumerate(sorted(os.listdir(folder))):
            # one folder for each
            for file in sorted(os.listdir(os.path.join(folder, name))):
                files.append(os.path.join(folder, name, file))
                kinds.append(k)
        order = np.arange(len(files))
        while True:
            np.random.shuffle(order)
            for start in range(0, len(files), n):
                some = order[start:start + n]
                yield np.stack([read(files[i]) for i in some]) / 127.5 - 1, np.eye(4)[[kinds[i] for i in some]]

"""  # noqa: E501


def test_lists_that_a_generator_makes_first_stay_and_an_unused_function_goes():
    made = after(LISTED)
    body = LISTED[LISTED.index("        files, kinds") : LISTED.index("        order")]
    assert textwrap.indent(textwrap.dedent(body), "    ") in made
    assert "def read" not in made
    assert made.count("# one folder for each") == 1
    assert "    labels = [np.eye(4)[kind] for kind in kinds]\n" in made


EXAMPLES = """
    def batches():
        order = list(range(len(paths)))
        random.shuffle(order)
        for i in order:
            image = Image.open(paths[i]).convert("RGB").resize((32, 32), Image.BILINEAR)
            yield np.asarray(image, np.float32), labels[i]
"""
SOURCE = """
ds = tf.data.Dataset.from_generator(batches, output_types=(tf.float32, tf.int32))
model.fit(ds.batch(8), epochs=2)
"""


def test_a_shuffle_at_the_begin_of_every_round_is_one_of_the_dataset():
    made = after(EXAMPLES, SOURCE)
    assert "random.shuffle" not in made
    assert "ds = ds.shuffle(len(paths))" in made
    assert change_of(EXAMPLES, SOURCE)[1].kind is FixClass.MAY_CHANGE_RESULTS


def test_settings_of_a_class_are_known():
    head = HEAD + "class CFG:\n    size = 32\n    mean = np.array([123.7, 116.8, 103.9])\n"
    code = RANGES.replace("(32, 32)", "(CFG.size, CFG.size)").replace("/ 255.", "- CFG.mean")
    assert "image = image - tf.constant(CFG.mean, tf.float32)" in after(code, head=head)


def test_columns_of_tables_are_asked_row_by_row_as_before():
    head = HEAD + "import pandas as pd\ndf = pd.read_csv('photos.csv')\n"
    code = """
        def batches(n=8):
            order = np.arange(len(df))
            while True:
                np.random.shuffle(order)
                for k in range(len(df) // n):
                    x, y = [], []
                    for i in order[k * n:(k + 1) * n]:
                        image = keras.utils.load_img(df["path"][i], target_size=(32, 32))
                        x.append(keras.utils.img_to_array(image))
                        y.append(df["label"][i])
                    yield np.array(x), np.array(y)
    """
    assert '[df["label"][i] for i in range(len(df))]' in after(code, head=head)


def test_quotes_are_those_of_the_file():
    made = after(RANGES.replace('"', "'"), head=HEAD.replace('"', "'"))
    assert "dct_method='INTEGER_ACCURATE'" in made


SEQUENCE = """\
class Base(keras.utils.PyDataset):
    def __init__(self, root, batch_size=8, size=32, **kwargs):
        super().__init__(**kwargs)
        self.batch_size = batch_size
        self.size = size
        self.samples = []
        for k, name in enumerate(sorted(os.listdir(root))):
            for file in sorted(os.listdir(os.path.join(root, name))):
                self.samples.append((os.path.join(root, name, file), k))

    def __len__(self):
        return len(self.samples) // self.batch_size

    def __getitem__(self, number):
        chosen = self.order[number * self.batch_size:(number + 1) * self.batch_size]
        return self.collate([self.samples[i] for i in chosen])


class Photos(Base):
    scale = 255.0

    def __init__(self, root, batch_size: int = 10, seed=3):
        super().__init__(root, batch_size)
        self.rng = np.random.default_rng(seed)
        self.order = np.arange(len(self.samples))

    def on_epoch_end(self):
        self.rng.shuffle(self.order)

    def collate(self, items):
        x = np.zeros((len(items), self.size, self.size, 1), "float32")
        y = np.zeros(len(items), dtype="int32")
        for k, (path, label) in enumerate(items):
            image = Image.open(path).convert("L").resize((self.size, self.size), Image.BILINEAR)
            x[k, :, :, 0] = np.asarray(image) / self.scale
            y[k] = label
        return x, y


train = Photos("photos")
model.fit(train, epochs=3)
"""


def sequence_change(text):
    line = next(n for n, row in enumerate(text.split("\n"), 1) if "chosen =" in row)
    return sequence_to_dataset(Program(texts={"t.py": text}), "t.py", line, pillow=12)


def test_a_class_is_read_with_those_it_inherits_from():
    text = HEAD + SEQUENCE
    made = apply_edits(text, sequence_change(text).edits)
    assert made[len(HEAD) :] == textwrap.dedent(
        """\
        def photos(root, batch_size: int = 10, seed=3):
            samples = []
            for k, name in enumerate(sorted(os.listdir(root))):
                for file in sorted(os.listdir(os.path.join(root, name))):
                    samples.append((os.path.join(root, name, file), k))

            def load(path, label):
                data = tf.io.read_file(path)
                image = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")
                # Gray as Pillow makes it.
                image = tf.cast(image, tf.int32) * [19595, 38470, 7471]
                image = (tf.reduce_sum(image, axis=-1, keepdims=True) + 32768) // 65536
                image = tf.cast(image, tf.uint8)
                image = tf.round(tf.image.resize(image, (32, 32), antialias=True))
                image = image / 255.0
                return image, label

            paths = [str(path) for path, _ in samples]
            labels = np.array([label for _, label in samples], dtype="int32")
            ds = tf.data.Dataset.from_tensor_slices((paths, labels))
            ds = ds.shuffle(len(samples), seed=seed)
            ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE)
            ds = ds.batch(batch_size, drop_remainder=True)
            return ds.prefetch(tf.data.AUTOTUNE)


        train = photos("photos")
        model.fit(train, epochs=3)
        """
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("self.rng.shuffle", "super().on_epoch_end()\n        self.rng.shuffle", id="a"
                     " method that calls the one above"),
        pytest.param("    scale = 255.0", "    scale = property(len)", id="an attribute that is"
                     " computed"),
        pytest.param("        y[k] = label", "        self.seen = path\n            y[k] = label",
                     id="a class that remembers"),
        pytest.param("x[k, :, :, 0]", "x[k, :, :, 1]", id="another channel"),
        pytest.param("self.size, 1), ", "self.size, 3), ", id="channels that stay empty"),
        pytest.param("train = Photos", "print(Photos.scale)\ntrain = Photos", id="a class that the"
                     " script asks for more"),
        pytest.param("root, batch_size)", "root, batch_size + 1)", id="arguments that are"
                     " computed"),
        pytest.param("class Photos(Base)", "@keep\nclass Photos(Base)", id="a decorated class"),
    ],
)  # fmt: skip
def test_no_class_is_changed_with(old, new):
    assert old in SEQUENCE
    assert sequence_change(HEAD + SEQUENCE.replace(old, new)) is None


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(DRAWN.replace("len(paths), n)", "len(paths), n, replace=False)"),
                     id="draws that do not repeat within a batch"),
        pytest.param(DRAWN.replace("len(paths), n)", "len(paths), n, p=weights)"),
                     id="draws with other chances"),
        pytest.param(DRAWN.replace("len(paths), n)", "len(others), n)"),
                     id="draws from another list"),
        pytest.param(
            DRAWN.replace("y = [labels[i] for i in chosen]",
                          "y = [labels[i] for i in np.random.choice(len(paths), n)]"),
            id="labels of another draw"),
        pytest.param(DRAWN.replace("chosen = np.random.choice(len(paths), n)",
                                   "one = random.choice(paths)\n            chosen = range(n)"
                                   ).replace("paths[i]", "one"),
                     id="one draw for a whole batch"),
        pytest.param(DRAWN.replace("while True", "while len(paths)"), id="another loop"),
        pytest.param(FLIPS.replace("< 0.5", "< 0.4"), id="a flip of other chances"),
        pytest.param(FLIPS.replace("image = image[:, ::-1]", "label = 0"), id="a label by chance"),
        pytest.param(FLIPS.replace("if random", "if label and random"), id="a flip of some labels"),
        pytest.param(FLIPS.replace("keras.utils.to_categorical(y, 4)", "np.array(x)"),
                     id="pictures changed by chance that are their own labels"),
        pytest.param(RANGES.replace("range(i, i + n)", "range(i, i + n - 1)"),
                     id="a batch that is one short"),
        pytest.param(RANGES.replace("range(i, i + n)", "range(i + 1, i + n)"),
                     id="a batch that begins later"),
        pytest.param(RANGES.replace("                    y += [label]",
                                    "                y += [label]"),
                     id="a label for a whole batch"),
        pytest.param(RANGES.replace("y += [label]", "y += [label, label]"), id="two labels each"),
        pytest.param(LISTED.replace("order = np.arange(len(files))",
                                    "order = np.arange(len(files))\n        yield None"),
                     id="something else that is given first"),
        pytest.param(LISTED.replace("kinds.append(k)", "kinds.append(k)\n                return"),
                     id="a generator that ends early"),
    ],
)  # fmt: skip
def test_no_generator_is_changed_with(code):
    assert change_of(code)[1] is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("random.shuffle(order)", "state.append(3)", id="another effect"),
        pytest.param("order = list", "count[0] += 1\n        order = list", id="a counter"),
        pytest.param("range(len(paths)))", "np.random.choice(9, 3))", id="draws"),
    ],
)
def test_nothing_that_differs_from_round_to_round_is_done_once(old, new):
    assert old in EXAMPLES
    assert change_of(EXAMPLES.replace(old, new), SOURCE)[1] is None
