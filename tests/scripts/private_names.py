"""Prints every name of TensorFlow and Keras that quickfit's probes use and that is not there."""

import importlib

import keras
import tensorflow as tf

NAMES = {
    "keras.src.backend.tensorflow.trainer": ["TensorFlowTrainer.fit"],
    "keras.src.trainers.trainer": ["Trainer.compile"],
    "keras.src.callbacks.callback_list": [
        "CallbackList._configure_async_dispatch",
        "CallbackList._on_train_batch_end",
    ],
    "keras.src.trainers.data_adapters.generator_data_adapter": [
        "GeneratorDataAdapter.get_tf_dataset"
    ],
    "keras.src.trainers.data_adapters.py_dataset_adapter": [
        "PyDatasetAdapter.get_tf_dataset",
        "PyDatasetAdapter._get_iterator",
    ],
    "keras.src.trainers.data_adapters.array_data_adapter": ["ArrayDataAdapter.batch_size"],
    "keras.src.trainers.data_adapters.tf_dataset_adapter": ["TFDatasetAdapter.batch_size"],
    "tensorflow.python.data.ops.dataset_ops": ["DatasetV2.__init__", "DatasetV2._inputs"],
    "tensorflow.python.data.ops.iterator_ops": ["OwnedIterator._create_iterator"],
    "tensorflow.python.data.experimental.ops.iterator_model_ops": ["get_model_proto"],
    "tensorflow.python.framework.func_graph": ["FuncGraph.__init__"],
    "tensorflow.python.framework.ops": ["device_v2"],
    "tensorflow.python.eager.polymorphic_function.transform": ["CONCRETE_FUNCTION_CALLBACKS"],
    "tensorflow.python.eager.polymorphic_function.eager_function_run": [
        "run_functions_eagerly",
        "RUN_FUNCTIONS_EAGERLY",
    ],
    "tensorflow.python.pywrap_tfe": ["TFE_Py_FastPathExecute", "TFE_Py_Execute"],
    "tensorflow.python.util.tf_decorator": ["unwrap"],
}
# Local variables that are read from a frame, by the function that has them.
VARIABLES = {
    "keras.src.backend.tensorflow.trainer:TensorFlowTrainer.fit": {"callbacks", "epoch_iterator"},
    "tensorflow.python.eager.polymorphic_function.tracing_compilation:_create_concrete_function": {
        "tracing_options",
        "function_type",
    },
}
HOOKS = ("train_begin", "train_end", "epoch_begin", "epoch_end", "test_begin", "test_end")


def found(module, name):
    """Return what `module.name` is, or None."""
    thing = importlib.import_module(module)
    for part in name.split("."):
        thing = getattr(thing, part, None)
    return thing


def missing():
    """Yield what is not as the probes expect it."""
    for module, names in NAMES.items():
        yield from (f"{module}.{name}" for name in names if found(module, name) is None)
    for place, wanted in VARIABLES.items():
        function = found(*place.split(":"))
        function = getattr(function, "__wrapped__", function)
        yield from (f"{place}: {name}" for name in wanted - set(function.__code__.co_varnames))
    hooks = [*(f"on_{name}" for name in HOOKS), "on_train_batch_begin", "_on_train_batch_end"]
    for hook in hooks:
        if "callbacks" not in getattr(keras.callbacks.CallbackList, hook).__code__.co_names:
            yield f"CallbackList.{hook} does not iterate self.callbacks"
    data = tf.data.Dataset.range(3).map(lambda x: x)
    for name in ("_map_func._func", "_map_func.function.graph"):
        thing = data
        for part in name.split("."):
            thing = getattr(thing, part, None)
        if thing is None:
            yield f"MapDataset.{name}"
    if not isinstance(iter(data)._dataset, tf.data.Dataset):
        yield "OwnedIterator._dataset"


print(*missing(), sep="\n", end="")
