"""Generators over image files become datasets that give the same pictures."""

import textwrap

import pytest

from quickfit.causes._shared.image_pipeline.generators import generator_to_dataset
from quickfit.code import Program
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass

HEAD = """\
import glob
import random
import numpy as np
import keras
import tensorflow as tf
from PIL import Image
paths = sorted(glob.glob("photos/*/*.jpg"))
labels = np.array([int(p.split("/")[1]) for p in paths])
"""


def script_of(code, use="model.fit(batches(), steps_per_epoch=9, epochs=3)"):
    return f"{HEAD}{textwrap.dedent(code)}\n{use}\n"


def change_of(text, *, pillow=12):
    lines = text.split("\n")
    line = next(n for n, row in enumerate(lines, 1) if "yield" in row)
    return generator_to_dataset(Program(texts={"train.py": text}), "train.py", line, pillow=pillow)


def after(text, **options):
    change = change_of(text, **options)
    assert change is not None
    return apply_edits(text, change.edits)


SLICES = """
    def batches(batch_size=32):
        while True:
            for start in range(0, len(paths), batch_size):
                some = slice(start, start + batch_size)
                images = [np.array(Image.open(p).convert("RGB").resize((64, 48), Image.BILINEAR))
                          for p in paths[some]]
                yield np.stack(images) / 255.0, labels[some]
"""


def test_a_loop_over_slices_becomes_a_dataset():
    assert after(script_of(SLICES)) == script_of(
        """
        def batches(batch_size=32):
            def load(path, label):
                data = tf.io.read_file(path)
                image = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")
                image = tf.round(tf.image.resize(image, (48, 64), antialias=True))
                image = image / 255.0
                return image, label

            ds = tf.data.Dataset.from_tensor_slices((paths, labels))
            ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE)
            ds = ds.batch(batch_size)
            ds = ds.repeat()
            return ds.prefetch(tf.data.AUTOTUNE)
        """
    )


def test_without_a_shuffle_the_class_is_equivalent_and_the_difference_is_said():
    change = change_of(script_of(SLICES))
    assert change.kind is FixClass.EQUIVALENT
    assert "at most 1 of 255" in change.note


SHUFFLED = """
    def read(path, size):
        # the files are large
        img = keras.utils.load_img(path, target_size=(size, size))
        return keras.utils.img_to_array(img) / 127.5 - 1

    def batches(n=16, shuffle=True):
        '''Batches for ever.'''
        order = np.arange(len(paths))
        while True:
            # a new order
            if shuffle:
                np.random.shuffle(order)
            for k in range(len(paths) // n):
                x, y = [], []
                for i in order[k * n:(k + 1) * n]:
                    x.append(read(paths[i], 50))
                    y.append(labels[i])
                yield np.array(x), np.array(y)  # on to the model
"""


def test_a_shuffle_under_a_flag_a_function_and_comments_are_kept():
    text = script_of(SHUFFLED)
    made = after(text)
    begin = made.index("def batches")
    assert made[:begin] == text[: text.index("def batches")]  # its comment keeps `read`
    assert made[begin:] == textwrap.dedent(
        """\
        def batches(n=16, shuffle=True):
            '''Batches for ever.'''

            def nearest(size, new_size):
                # Pillow adds the step up, which decides where two pixels are equally near.
                step = tf.cast(size, tf.float64) / new_size
                steps = tf.concat([[step / 2], tf.fill([new_size - 1], step)], axis=0)
                return tf.cast(tf.cumsum(steps), tf.int32)

            def load(path, label):
                data = tf.io.read_file(path)
                image = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")
                image = tf.gather(image, nearest(tf.shape(image)[0], 50), axis=0)
                image = tf.gather(image, nearest(tf.shape(image)[1], 50), axis=1)
                image = tf.cast(image, tf.float32)
                image = image / 127.5
                image = image - 1
                # on to the model
                return image, label

            ds = tf.data.Dataset.from_tensor_slices((paths, np.array(labels)))
            # a new order
            if shuffle:
                ds = ds.shuffle(len(paths))
            ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE)
            ds = ds.batch(n, drop_remainder=True)
            ds = ds.repeat()
            return ds.prefetch(tf.data.AUTOTUNE)

        model.fit(batches(), steps_per_epoch=9, epochs=3)
        """
    )
    assert change_of(text).kind is FixClass.MAY_CHANGE_RESULTS


ITEMS = """
    samples = list(zip(paths, labels))

    def batches(size=8):
        images, targets = [], []
        while True:
            random.shuffle(samples)
            for path, label in samples:
                with Image.open(path) as photo:
                    photo = photo.convert("L").resize((32, 32), Image.BILINEAR)
                    images.append(np.asarray(photo, dtype="float32")[..., None])
                targets.append(label)
                if len(images) == size:
                    yield np.stack(images), np.array(targets)
                    images, targets = [], []
"""


def test_lists_that_are_carried_into_the_next_round_repeat_before_they_are_batched():
    made = after(script_of(ITEMS))
    assert made[made.index("    def load") :].startswith(
        textwrap.indent(
            textwrap.dedent(
                """\
                def load(path, label):
                    data = tf.io.read_file(path)
                    image = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")
                    # Gray as Pillow makes it.
                    image = tf.cast(image, tf.int32) * [19595, 38470, 7471]
                    image = (tf.reduce_sum(image, axis=-1, keepdims=True) + 32768) // 65536
                    image = tf.cast(image, tf.uint8)
                    image = tf.round(tf.image.resize(image, (32, 32), antialias=True))
                    return image, label

                paths = [str(path) for path, _ in samples]
                labels = np.array([label for _, label in samples])
                ds = tf.data.Dataset.from_tensor_slices((paths, labels))
                ds = ds.shuffle(len(samples))
                ds = ds.repeat()
                ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE)
                ds = ds.batch(size)
                return ds.prefetch(tf.data.AUTOTUNE)
                """
            ),
            "    ",
        )
    )


def test_lists_that_begin_anew_in_each_round_drop_the_rest():
    text = script_of(ITEMS).replace("    images, targets = [], []\n    while", "    while", 1)
    text = text.replace("    while True:\n", "    while True:\n        images, targets = [], []\n")
    made = after(text)
    assert made.index("ds.batch(size, drop_remainder=True)") < made.index("ds.repeat()")


FED = """
    def examples():
        for path, label in zip(paths, labels):
            image = Image.open(path).convert("RGB").resize((64, 64))
            yield np.array(image, np.float32), label
"""
FED_USE = """\
ds = tf.data.Dataset.from_generator(
    examples, output_signature=(tf.TensorSpec((64, 64, 3)), tf.TensorSpec((), tf.int32))
)
model.fit(ds.batch(8), epochs=2)"""


def test_from_generator_gives_way_to_the_dataset_with_the_types_of_its_signature():
    made = after(script_of(FED, FED_USE))
    assert made.endswith("ds = examples()\nmodel.fit(ds.batch(8), epochs=2)\n")
    assert "return image, tf.cast(label, tf.int32)" in made
    assert "ds.repeat" not in made
    assert "def load(path, label):" in made


def test_pillow_13_begins_with_the_height_of_tall_pictures():
    text = script_of(FED, FED_USE)
    assert "is_tall" in after(text, pillow=13)
    assert "first = (tf.shape(image)[0], 64)" in after(text, pillow=12)


def test_opencv_gives_its_order_of_channels():
    text = script_of(
        """
        import cv2
        def batches(batch_size):
            while True:
                for s in range(0, len(paths), batch_size):
                    x = [cv2.resize(cv2.imread(p), (64, 64)) for p in paths[s:s + batch_size]]
                    yield np.array(x, dtype=np.float32), labels[s:s + batch_size]
        """,
        "model.fit(batches(8), steps_per_epoch=4)",
    )
    made = after(text)
    assert "image = tf.round(tf.image.resize(image, (64, 64)))\n" in made
    assert "image = image[..., ::-1]\n" in made
    assert "EXIF" in change_of(text).note


def test_tensorflow_is_imported_where_it_is_not():
    text = script_of(SLICES).replace("import tensorflow as tf\n", "")
    assert after(text).count("import tensorflow as tf\n") == 1


def test_the_generator_of_a_function_at_the_line_is_found():
    text = script_of(SHUFFLED)
    line = next(n for n, row in enumerate(text.split("\n"), 1) if "load_img" in row)
    project = Program(texts={"train.py": text})
    assert generator_to_dataset(project, "train.py", line, pillow=12) is not None


def changed(code, old, new):
    assert old in code
    return script_of(code.replace(old, new))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            changed(SLICES, "(64, 48), Image.BILINEAR", "(64, 48), Image.BOX"),
            id="a filter that TensorFlow does not have",
        ),
        pytest.param(
            changed(SLICES, ".convert(", ".rotate(9).convert("), id="an operation without an equal"
        ),
        pytest.param(
            changed(SLICES, "yield np.stack", "images.reverse()\n                yield np.stack"),
            id="a batch that is changed afterwards",
        ),
        pytest.param(
            changed(
                SLICES, "range(0, len(paths), batch", "range(0, len(paths) - batch_size, batch"
            ),
            id="a loop that leaves a full batch out",
        ),
        pytest.param(
            changed(SLICES, "labels[some]", "labels[start + 1:start + 1 + batch_size]"),
            id="labels of other pictures",
        ),
        pytest.param(
            changed(SLICES, "range(0, len(paths), ", "range(0, len(others), "),
            id="the length of another list",
        ),
        pytest.param(
            changed(
                SLICES,
                "        while True:\n",
                "        while True:\n            random.shuffle(paths)\n",
            ),
            id="paths that are shuffled without their labels",
        ),
        pytest.param(
            changed(SLICES, '.convert("RGB")', ""), id="files that decide about the channels"
        ),
        pytest.param(
            script_of(SLICES).replace("*.jpg", "*.tif"), id="files that TensorFlow does not read"
        ),
        pytest.param(
            changed(SLICES, "/ 255.0", "- np.mean(images)"), id="numbers of the whole batch"
        ),
        pytest.param(
            changed(SLICES, "np.stack(images) / 255.0", "np.stack(images) * 2"),
            id="whole numbers that go around at 256",
        ),
        pytest.param(
            script_of(SLICES, "first = next(batches())"),
            id="batches that the script looks at itself",
        ),
        pytest.param(
            script_of(SLICES, "for x, y in batches():\n    model.train_on_batch(x, y)"),
            id="a loop of the script's own",
        ),
        pytest.param(
            script_of(
                SLICES,
                "gen = batches()\nfor _ in range(3):\n    model.fit(gen, steps_per_epoch=2)",
            ),
            id="a generator that goes on in the next fit",
        ),
        pytest.param(
            changed(SLICES, "    def batches", "    @wrapped\n    def batches"),
            id="a decorated generator",
        ),
        pytest.param(
            changed(
                SLICES,
                "        while True:\n            for",
                "        for _ in range(1):\n            for",
            ),
            id="a loop over rounds",
        ),
        pytest.param(
            changed(ITEMS, "targets.append(label)", "targets.append(label + len(images))"),
            id="labels that depend on the place in the batch",
        ),
        pytest.param(
            changed(
                ITEMS,
                "                with Image",
                "                if label == 3:\n"
                "                    continue\n                with Image",
            ),
            id="items that are left out",
        ),
        pytest.param(
            changed(
                ITEMS,
                "                    images, targets = [], []\n",
                "                    images = []\n",
            ),
            id="a list that keeps growing",
        ),
        pytest.param(
            changed(SHUFFLED, "np.array(x), np.array(y)", "np.array(x), y"),
            id="labels in a list",
        ),
        pytest.param(
            changed(SHUFFLED, "read(paths[i], 50)", "read(paths[i - 1], 50)"),
            id="the picture before",
        ),
        pytest.param(
            changed(
                SHUFFLED,
                "x.append(read(paths[i], 50))",
                "a = read(paths[i], 50)\n                    if random.random() < 0.3:\n"
                "                        a = a[:, ::-1]\n                    x.append(a)",
            ),
            id="flips that are rarer than others",
        ),
        pytest.param(
            changed(
                SHUFFLED,
                "x.append(read(paths[i], 50))",
                "a = read(paths[i], 50)\n                    if random.random() < 0.5:\n"
                "                        a = a * 0.9\n                    x.append(a)",
            ),
            id="another change by chance",
        ),
        pytest.param(
            changed(
                SHUFFLED,
                "yield np.array(x)",
                "if random.random() < 0.5:\n                    x = x[::-1]\n"
                "                yield np.array(x)",
            ),
            id="a change of the whole batch by chance",
        ),
        pytest.param(
            changed(
                SHUFFLED,
                "x.append(read(paths[i], 50))",
                "try:\n                        x.append(read(paths[i], 50))\n"
                "                    except OSError:\n                        continue",
            ),
            id="errors that are swallowed",
        ),
        pytest.param(
            changed(SHUFFLED, "def batches(n=16", "def batches(keras=3, n=16"),
            id="a name that means something else in the generator",
        ),
        pytest.param(
            script_of(FED, "model.fit(examples(), epochs=2)"),
            id="single items given to fit",
        ),
        pytest.param(
            script_of(FED, FED_USE.replace("examples, out", "examples, args=(3,), out")),
            id="arguments that are tensors",
        ),
    ],
)
def test_nothing_is_changed_for(text):
    assert change_of(text) is None


def test_a_generator_that_ends_is_changed_for_one_epoch_only():
    once = SLICES.replace("        while True:\n    ", "    ")
    once = textwrap.dedent(
        """
        def batches(batch_size=32):
            for start in range(0, len(paths), batch_size):
                x = [np.array(Image.open(p).convert("RGB").resize((9, 9), Image.BILINEAR))
                     for p in paths[start:start + batch_size]]
                yield np.array(x), labels[start:start + batch_size]
        """
    )
    assert change_of(script_of(once, "model.fit(batches())")) is not None
    assert change_of(script_of(once, "model.fit(batches(), epochs=2)")) is None


def test_an_image_that_is_not_pillows_is_left_alone():
    assert change_of(script_of(SLICES).replace("from PIL import", "from own import")) is None
