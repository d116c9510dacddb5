"""Every private name of TensorFlow and Keras that quickfit holds on to, in one place.

Written for TensorFlow 2.21 and Keras 3.15. A probe asks here before it patches a module; a name
that has moved, or whose parameters are others, is recorded as missing, and the probe that needs
it stays off. `tests/scripts/private_names.py` asks for all of them at once.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple


class Wanted(NamedTuple):
    """What a name must be.

    Args:
        parameters: the names of its first parameters, in order.
        variables: local variables that are read from its frame.
        uses: attributes that its code reads, such as the list it iterates.
    """

    parameters: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()


_ITERATES = Wanted(("self",), uses=("callbacks",))
_METHOD = Wanted(("self",))

# By probe, module and name.
NAMES: dict[str, dict[str, dict[str, Wanted]]] = {
    "calls": {
        "tensorflow.python.eager.polymorphic_function.polymorphic_function": {
            "Function.__call__": _METHOD
        },
        "tensorflow.python.data.ops.iterator_ops": {
            "OwnedIterator.__next__": _METHOD,
            "OwnedIterator.get_next": _METHOD,
        },
        "tensorflow.python.distribute.input_lib": {
            "DistributedIteratorBase.__next__": _METHOD,
            "DistributedIteratorBase.get_next": _METHOD,
        },
        "tensorflow.python.eager.backprop": {
            "GradientTape.__enter__": _METHOD,
            "GradientTape.gradient": Wanted(("self", "target", "sources")),
        },
        "keras.src.optimizers.base_optimizer": {
            "BaseOptimizer.apply_gradients": Wanted(("self", "grads_and_vars")),
            "BaseOptimizer.apply": Wanted(("self", "grads")),
        },
        "keras.src.backend.tensorflow.trainer": {
            "TensorFlowTrainer.train_on_batch": Wanted(("self", "x", "y")),
            "TensorFlowTrainer.test_on_batch": Wanted(("self", "x", "y")),
            "TensorFlowTrainer.predict_on_batch": Wanted(("self", "x")),
            "TensorFlowTrainer.predict": Wanted(("self", "x")),
            "TensorFlowTrainer.evaluate": Wanted(("self", "x", "y")),
            "pythonify_logs": Wanted(("logs",)),
        },
        "keras.src.models.model": {
            "Model.save": Wanted(("self", "filepath")),
            "Model.save_weights": Wanted(("self", "filepath")),
        },
        "tensorflow.python.client.session": {"BaseSession.run": Wanted(("self", "fetches"))},
        "tensorflow.python.checkpoint.checkpoint": {
            "Checkpoint.save": Wanted(("self", "file_prefix")),
            "Checkpoint.write": Wanted(("self", "file_prefix")),
        },
    },
    "copies": {
        "tensorflow.python.framework.constant_op": {
            "_constant_eager_impl": Wanted(("ctx", "value")),
            "convert_to_eager_tensor": Wanted(("value", "ctx")),
        },
    },
    "fit_loop": {
        "keras.src.backend.tensorflow.trainer": {
            "TensorFlowTrainer.fit": Wanted(("self", "x", "y"), ("callbacks", "epoch_iterator")),
        },
        "keras.src.trainers.trainer": {"Trainer.compile": Wanted(("self", "optimizer"))},
        "keras.src.callbacks.callback_list": {
            "CallbackList._configure_async_dispatch": _METHOD,
            "CallbackList.on_train_begin": _ITERATES,
            "CallbackList.on_train_end": _ITERATES,
            "CallbackList.on_epoch_begin": _ITERATES,
            "CallbackList.on_epoch_end": _ITERATES,
            "CallbackList.on_test_begin": _ITERATES,
            "CallbackList.on_test_end": _ITERATES,
            "CallbackList.on_train_batch_begin": _ITERATES,
            "CallbackList._on_train_batch_end": _ITERATES,
            "CallbackList.on_predict_begin": _ITERATES,
            "CallbackList.on_predict_end": _ITERATES,
            "CallbackList.on_test_batch_begin": _ITERATES,
            "CallbackList._on_test_batch_end": _ITERATES,
            "CallbackList.on_predict_batch_begin": _ITERATES,
            "CallbackList._on_predict_batch_end": _ITERATES,
        },
    },
    "fit_shapes": {
        "keras.src.backend.tensorflow.trainer": {
            "TensorFlowTrainer._make_function": Wanted(
                ("self", "step_function"), ("one_step_on_data",)
            ),
            "TFEpochIterator.__init__": Wanted(uses=("_distributed_dataset", "data_adapter")),
        },
        "tensorflow.python.eager.polymorphic_function.polymorphic_function": {
            "Function._list_all_concrete_functions": _METHOD,
        },
    },
    "tf_data": {
        "tensorflow.python.data.ops.dataset_ops": {
            "DatasetV2.__init__": Wanted(("self", "variant_tensor")),
            "DatasetV2._inputs": _METHOD,
            "apply_rewrite": Wanted(("dataset", "rewrite")),
        },
        "tensorflow.python.data.ops.iterator_ops": {"OwnedIterator._create_iterator": _METHOD},
        "tensorflow.python.data.ops.structured_function": {
            "StructuredFunctionWrapper.__init__": Wanted(
                ("self", "func"), uses=("_func", "_function")
            ),
        },
        "tensorflow.python.data.ops.from_generator_op": {
            "_from_generator": Wanted(("generator",), variables=("generator_state",)),
            "_GeneratorDataset.__init__": Wanted(uses=("_next_func",)),
        },
        "tensorflow.python.autograph.impl.api": {
            "converted_call": Wanted(("f", "args"), ("converted_f", "target_entity")),
        },
    },
    "py_input": {
        "keras.src.trainers.data_adapters.generator_data_adapter": {
            "GeneratorDataAdapter.get_tf_dataset": _METHOD
        },
        "keras.src.trainers.data_adapters.py_dataset_adapter": {
            "PyDatasetAdapter.get_tf_dataset": _METHOD,
            "PyDatasetAdapter._get_iterator": _METHOD,
        },
    },
    "py_functions": {
        "tensorflow.python.ops.script_ops": {
            "FuncRegistry.__call__": Wanted(("self", "token", "device", "args"), uses=("get",)),
            "FuncRegistry.insert": Wanted(("self", "func")),
            "FuncRegistry.get": Wanted(("self", "token", "default")),
            "EagerFunc.__init__": Wanted(("self", "func"), uses=("_func",)),
            "_EagerPyFuncGrad": Wanted(("op",), variables=("token",)),
        },
        "tensorflow.python.framework.func_graph": {
            "func_graph_from_py_func": Wanted(("name", "python_func")),
        },
        "tensorflow.python.data.ops.structured_function": {
            "StructuredFunctionWrapper.__init__": Wanted(("self", "func")),
        },
    },
    "retracing": {
        "tensorflow.python.framework.func_graph": {
            "FuncGraph.__init__": Wanted(("self", "name")),
        },
        "tensorflow.python.eager.polymorphic_function.transform": {
            "CONCRETE_FUNCTION_CALLBACKS": Wanted(),
        },
        "tensorflow.python.eager.polymorphic_function.eager_function_run": {
            "run_functions_eagerly": Wanted(("run_eagerly",)),
            "RUN_FUNCTIONS_EAGERLY": Wanted(),
        },
        "tensorflow.python.eager.polymorphic_function.tracing_compilation": {
            "_create_concrete_function": Wanted(variables=("tracing_options", "function_type")),
            "TracingOptions.__post_init__": Wanted(uses=("attributes", "python_function")),
        },
        "tensorflow.core.function.polymorphism.function_cache": {
            "FunctionCache.__init__": Wanted(uses=("_primary",)),
        },
        "tensorflow.core.function.trace_type.default_types": {
            "Literal.__init__": Wanted(("self", "value")),
            "Weakref.__init__": Wanted(("self", "ref"), uses=("_ref",)),
            "Tuple.__init__": Wanted(uses=("components",)),
            "List.__init__": Wanted(uses=("components_tuple",)),
            "Dict.__init__": Wanted(("self", "mapping"), uses=("mapping",)),
            "NamedTuple.__init__": Wanted(uses=("attribute_names", "attributes")),
            "Attrs.__init__": Wanted(uses=("named_attributes",)),
        },
        "tensorflow.python.data.ops.structured_function": {
            "StructuredFunctionWrapper.__init__": Wanted(("self", "func")),
        },
        "tensorflow.python.autograph.impl.api": {
            "converted_call": Wanted(("f", "args"), ("converted_f",)),
            "_attach_error_metadata": Wanted(uses=("ag_source_map",)),
        },
    },
    "turbo": {
        "keras.src.trainers.data_adapters.array_data_adapter": {
            "ArrayDataAdapter.__init__": Wanted(uses=("_inputs", "_size", "_shuffle")),
            "ArrayDataAdapter.get_tf_dataset": _METHOD,
        },
        "keras.src.backend.tensorflow.trainer": {
            "TensorFlowTrainer.predict": Wanted(("self", "x"), ("epoch_iterator",)),
            "TFEpochIterator.__init__": Wanted(uses=("data_adapter", "_distribute_strategy")),
            "TFEpochIterator.__next__": Wanted(("self",), uses=("_epoch_iterator",)),
        },
        "tensorflow.python.data.ops.dataset_ops": {"DatasetV2._apply_debug_options": _METHOD},
        "tensorflow.python.data.ops.iterator_ops": {
            "OwnedIterator._create_iterator": Wanted(
                ("self", "dataset"), uses=("_apply_debug_options", "_dataset")
            ),
            "OwnedIterator.__next__": _METHOD,
        },
    },
    "tracing": {
        "tensorflow.python.framework.func_graph": {
            "func_graph_from_py_func": Wanted(("name", "python_func"), ("func_graph",)),
        },
    },
    "devices": {"tensorflow.python.framework.ops": {"device_v2": Wanted(("device_name",))}},
    "memory": {
        "tensorflow.python.framework.ops": {
            "EagerTensor": Wanted(),
            "Graph": Wanted(),
            "Operation": Wanted(),
        },
        "tensorflow.python.eager.backprop": {"GradientTape": Wanted()},
        "tensorflow.python.ops.script_ops": {"_py_funcs": Wanted()},
        "tensorflow.python.ops.resource_variable_ops": {"BaseResourceVariable": Wanted()},
        "tensorflow.python.eager.polymorphic_function.polymorphic_function": {"Function": Wanted()},
        "keras.src.models.model": {"Model": Wanted()},
    },
}


class Hook(NamedTuple):
    """What became of one name."""

    name: str
    probe: str
    state: str
    detail: str


def hooks_of(probe: str, module: ModuleType) -> list[Hook]:
    """Return the names a probe uses in a module, each with whether it is as expected."""
    found = []
    for name, wanted in NAMES.get(probe, {}).get(module.__name__, {}).items():
        detail = _difference(module, name, wanted)
        state = "missing" if detail else "active"
        found.append(Hook(f"{module.__name__}.{name}", probe, state, detail))
    return found


def _difference(module: ModuleType, name: str, wanted: Wanted) -> str:
    """Return what is not as it was when this was written, or nothing."""
    thing: Any = module
    for part in name.split("."):
        # A hook of ours may be in place already; it keeps what it stands for.
        thing = getattr(thing, "__dict__", {}).get(part, getattr(thing, part, None))
        if thing is None:
            return "no such name"
    code = _code_of(thing)
    if code is None:
        return "" if wanted == Wanted() else "not a Python function"
    parameters = code.co_varnames[: len(wanted.parameters)]
    if parameters != wanted.parameters or len(parameters) > code.co_argcount:
        return f"its parameters are {', '.join(code.co_varnames[: code.co_argcount])}"
    lost = [v for v in wanted.variables if v not in (*code.co_varnames, *code.co_cellvars)]
    lost += [name for name in wanted.uses if name not in code.co_names]
    return f"it has no {', '.join(lost)}" if lost else ""


def _code_of(thing: Any) -> Any:
    for _ in range(20):
        inner = getattr(thing, "__wrapped__", None) or getattr(thing, "method", None)
        if inner is None:
            break
        thing = inner
    thing = getattr(thing, "fget", None) or getattr(thing, "__func__", thing)
    return getattr(thing, "__code__", None)
