import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.image_data_generator import image_data_generator
from quickfit.fixes.script import Script

TEXT = """\
import tensorflow as tf
from tensorflow.keras.preprocessing.image import ImageDataGenerator

datagen = ImageDataGenerator(rescale=1.0 / 255, horizontal_flip=True)
train_generator = datagen.flow_from_directory(
    "photos", target_size=(64, 64), batch_size=16, class_mode="binary"
)
model.fit(train_generator, epochs=3)
"""


def change(text):
    return image_data_generator(Script("train.py", text))


def after(text):
    return patched(text, change(text).edits)


def test_an_iterator_over_files_becomes_a_dataset():
    assert after(TEXT) == TEXT[: TEXT.index("model.fit")].rstrip("\n") + (
        """


def nearest(size, new_size):
    # Pillow adds the step up, which decides where two pixels are equally near.
    step = tf.cast(size, tf.float64) / new_size
    steps = tf.concat([[step / 2], tf.fill([new_size - 1], step)], axis=0)
    return tf.cast(tf.cumsum(steps), tf.int32)


def load_train_image(path, label):
    data = tf.io.read_file(path)
    image = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")
    image = tf.gather(image, nearest(tf.shape(image)[0], train_generator.target_size[0]), axis=0)
    image = tf.gather(image, nearest(tf.shape(image)[1], train_generator.target_size[1]), axis=1)
    image = tf.image.random_flip_left_right(image)
    image = tf.cast(image, tf.float32)
    image = image * (1.0 / 255)
    return image, tf.cast(label, tf.float32)


"""
        "train_dataset = tf.data.Dataset.from_tensor_slices(\n"
        "    (train_generator.filepaths, train_generator.labels)\n)\n"
        "train_dataset = train_dataset.shuffle(train_generator.n)\n"
        "train_dataset = train_dataset.map("
        "load_train_image, num_parallel_calls=tf.data.AUTOTUNE)\n"
        "train_dataset = train_dataset.batch("
        "train_generator.batch_size).prefetch(tf.data.AUTOTUNE)\n"
        "model.fit(train_dataset, epochs=3)\n"
    )


def test_a_random_order_or_flip_may_change_results():
    assert change(TEXT).kind is FixClass.MAY_CHANGE_RESULTS
    still = TEXT.replace(", horizontal_flip=True", "").replace(
        "batch_size", "shuffle=False, batch_size"
    )
    still = still.replace("epochs=3", "epochs=3, shuffle=False")
    assert change(still).kind is FixClass.EQUIVALENT
    assert "0 of 255" in change(still).note


def test_the_order_of_an_iterator_that_fit_shuffles_by_batches_is_left_alone():
    assert change(TEXT.replace("batch_size", "shuffle=False, batch_size")) is None


def test_validation_data_moves_along_and_shares_the_helper():
    text = TEXT.replace("model.fit(", 'val_it = datagen.flow_from_directory("v")\nmodel.fit(')
    text = after(text.replace("epochs=3", "epochs=3, validation_data=val_it"))
    assert text.endswith("model.fit(train_dataset, epochs=3, validation_data=val_dataset)\n")
    assert text.count("def nearest(") == 1
    assert "tf.one_hot(label, len(val_it.class_indices))" in text


def test_validation_data_that_is_not_recognised_stays():
    text = TEXT.replace("epochs=3", "epochs=3, validation_data=other(x)")
    assert after(text).endswith("model.fit(train_dataset, epochs=3, validation_data=other(x))\n")


def test_arrays_are_batched_and_flipped():
    text = (
        "import tensorflow as tf\n"
        "gen = tf.keras.preprocessing.image.ImageDataGenerator(vertical_flip=True)\n"
        "def main():\n"
        "    flow = gen.flow(x_train, y_train, batch_size=64)\n"
        "    model.fit(flow)\n"
    )
    assert after(text).endswith("""\
    flow = gen.flow(x_train, y_train, batch_size=64)

    def prepare_image(image, label):
        image = tf.image.random_flip_up_down(image)
        return image, label

    image_dataset = tf.data.Dataset.from_tensor_slices((flow.x, flow.y))
    image_dataset = image_dataset.shuffle(flow.n)
    image_dataset = image_dataset.map(prepare_image, num_parallel_calls=tf.data.AUTOTUNE)
    image_dataset = image_dataset.batch(flow.batch_size).prefetch(tf.data.AUTOTUNE)
    model.fit(image_dataset)
""")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("binary", "sparse", "return image, tf.cast(label, tf.float32)"),
        ("binary", "categorical", "tf.one_hot(label, len(train_generator.class_indices))"),
        ("binary", "input", "return image, image"),
        ('"binary"', "None", "return image\n"),
        ('"binary"', '"binary", color_mode="grayscale"', "tf.image.rgb_to_grayscale(image)"),
        ('"binary"', '"binary", interpolation="bilinear"', "target_size, antialias=True))"),
        ('"binary"', '"binary", seed=SEED', ".shuffle(train_generator.n, seed=SEED)"),
        ("rescale=1.0 / 255", "preprocessing_function=preprocess_input", "preprocess_input(image)"),
        ("horizontal_flip=True", "rotation_range=0", "image * (1.0 / 255)"),
    ],
)
def test_a_setting_has_its_code(old, new, line):
    assert line in after(TEXT.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("horizontal_flip=True", "rotation_range=20", id="a rotation"),
        pytest.param("horizontal_flip=True", "zoom_range=0.2", id="a zoom"),
        pytest.param("horizontal_flip=True", "width_shift_range=W", id="a shift by a variable"),
        pytest.param("horizontal_flip=True", "samplewise_center=True", id="centred samples"),
        pytest.param("horizontal_flip=True", "featurewise_center=True", id="centred features"),
        pytest.param("horizontal_flip=True", "horizontal_flip=flip", id="a flip by a variable"),
        pytest.param("horizontal_flip=True", "preprocessing_function=clean", id="own code"),
        pytest.param("horizontal_flip=True", "**options", id="open settings"),
        pytest.param("horizontal_flip=True", 'data_format="channels_first"', id="another layout"),
        pytest.param('"binary"', "mode()", id="a class mode by a call"),
        pytest.param('"binary"', '"multi_output"', id="several outputs"),
        pytest.param('"binary"', '"binary", color_mode="rgba"', id="four channels"),
        pytest.param('"binary"', '"binary", interpolation="lanczos"', id="another filter"),
        pytest.param('"binary"', '"binary", keep_aspect_ratio=True', id="a crop"),
        pytest.param('"binary"', '"binary", save_to_dir="out"', id="saved pictures"),
        pytest.param("\nmodel", "\ndatagen.rescale = 2\nmodel", id="settings that change later"),
        pytest.param("fit(train_generator", "fit(wrap(train_generator)", id="another iterator"),
        pytest.param("\ndatagen = ", "\ndatagen = mine or ", id="a generator from elsewhere"),
    ],
)
def test_nothing_is_edited_for(old, new):
    assert change(TEXT.replace(old, new)) is None


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("x, batch_size=8", "from_tensor_slices(flow.x)"),
        ("x, None, batch_size=8", "from_tensor_slices(flow.x)"),
        ("x=x, y=y", "from_tensor_slices((flow.x, flow.y))"),
    ],
)
def test_arrays_come_with_labels_where_there_are_some(given, line):
    text = f"import tensorflow as tf\ngen = ImageDataGenerator()\nflow = gen.flow({given})\n"
    assert line in after(text + "model.fit(flow)\n")


def test_further_inputs_beside_the_images_are_left_alone():
    text = "import tensorflow as tf\ngen = ImageDataGenerator()\nflow = gen.flow((x, z), y)\n"
    assert change(text + "model.fit(flow)\n") is None


def test_a_class_of_the_same_name_is_the_users():
    assert change("class ImageDataGenerator:\n    pass\n" + TEXT) is None
