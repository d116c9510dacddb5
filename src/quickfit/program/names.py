"""The usual full name of what TensorFlow and Keras offer under several."""

from __future__ import annotations

# The longest prefix that fits is exchanged; what follows it stays.
_PREFIXES = {
    "tensorflow.compat.v2": "tensorflow",
    "tensorflow.keras": "keras",
    "keras.api": "keras",
    "tensorflow.data.experimental.AUTOTUNE": "tensorflow.data.AUTOTUNE",
    "tensorflow.image.decode_image": "tensorflow.io.decode_image",
    "tensorflow.image.decode_jpeg": "tensorflow.io.decode_jpeg",
    "tensorflow.image.decode_png": "tensorflow.io.decode_png",
    "tensorflow.image.decode_gif": "tensorflow.io.decode_gif",
    "tensorflow.image.decode_bmp": "tensorflow.io.decode_bmp",
    "tensorflow.read_file": "tensorflow.io.read_file",
    "keras.models.Sequential": "keras.Sequential",
    "keras.models.Model": "keras.Model",
    "keras.layers.Input": "keras.Input",
    "keras.preprocessing.image_dataset_from_directory": "keras.utils.image_dataset_from_directory",
    "keras.utils.Sequence": "keras.utils.PyDataset",
    "keras.backend.clear_session": "keras.utils.clear_session",
    "keras.experimental": "keras.experimental",
    "keras.losses.MSE": "keras.losses.mean_squared_error",
    "keras.losses.mse": "keras.losses.mean_squared_error",
    "tensorflow.optimizers": "keras.optimizers",
    "tensorflow.losses": "keras.losses",
    "tensorflow.metrics": "keras.metrics",
    "tensorflow.initializers": "keras.initializers",
    "keras.mixed_precision.experimental": "keras.mixed_precision.experimental",
    "keras.mixed_precision.Policy": "keras.dtype_policies.DTypePolicy",
    "keras.mixed_precision.DTypePolicy": "keras.dtype_policies.DTypePolicy",
    "keras.DTypePolicy": "keras.dtype_policies.DTypePolicy",
    "keras.config.set_dtype_policy": "keras.mixed_precision.set_global_policy",
    "keras.mixed_precision.set_dtype_policy": "keras.mixed_precision.set_global_policy",
    "keras.optimizers.LossScaleOptimizer": "keras.mixed_precision.LossScaleOptimizer",
}
# Names that `from keras.xxx import *` brings, where more than one such import could have.
_MODELS = {"Sequential", "Model", "load_model", "clone_model", "model_from_json"}
_OPTIMIZERS = {"Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adadelta", "Nadam", "Adamax", "Ftrl"}
_CALLBACKS = {"EarlyStopping", "ModelCheckpoint", "ReduceLROnPlateau", "TensorBoard", "Callback"}


def canonical(name: str) -> str:
    """Return the usual full name: `tensorflow.keras.models.Model` is `keras.Model`."""
    for _ in range(4):
        new = _exchanged(name)
        if new == name:
            return name
        name = new
    return name


def _exchanged(name: str) -> str:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        other = _PREFIXES.get(".".join(parts[:length]))
        if other is not None:
            return ".".join([other, *parts[length:]])
    return name


def starred(name: str, modules: list[str]) -> str:
    """Return what a name means that only `from … import *` can have brought; empty if unclear."""
    keras = [module for module in modules if module.startswith("keras")]
    if not keras or not all(m.split(".")[0] in ("keras", "tensorflow") for m in modules):
        return canonical(f"{modules[0]}.{name}") if len(modules) == 1 else ""
    for names, module in (
        (_MODELS, "keras.models"),
        (_OPTIMIZERS, "keras.optimizers"),
        (_CALLBACKS, "keras.callbacks"),
    ):
        if name in names:
            return canonical(f"{module}.{name}") if {module, "keras"} & set(keras) else ""
    if len(keras) == 1:
        return canonical(f"{keras[0]}.{name}")
    return (
        canonical(f"keras.layers.{name}") if "keras.layers" in keras and name[0].isupper() else ""
    )
