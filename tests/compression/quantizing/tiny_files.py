"""`.tflite` files of one operator, written by hand: what runs them needs no TensorFlow."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tensor:
    """A tensor of a file: its name in the signature, type, shape (-1 is open) and steps."""

    name: str
    kind: str = "FLOAT32"
    shape: tuple = (-1, 3)
    scale: float = 0.0
    zero: int = 0


def sum_of(*inputs, output=None, signatures=("serving_default",), version=1, custom=None):
    """Return the content of a file that adds two inputs, or one to itself.

    Args:
        inputs: one or two tensors.
        output: the sum; by default like the first input, and called `output_0`.
        signatures: names of the models in it; none is what other tools write.
        version: of the operator.
        custom: the name of an operator that is not LiteRT's own.
    """
    first = inputs[0]
    output = output or Tensor("output_0", first.kind, first.shape, first.scale, first.zero)
    operands = [0, 0] if len(inputs) == 1 else [0, 1]
    return _packed([*inputs, output], operands, signatures, (version, custom))


def _packed(tensors, operands, signatures, code):
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT()
    model.version = 3
    model.operatorCodes = [_code(schema, *code)]
    model.buffers = [schema.BufferT()]
    model.subgraphs = [_graph(schema, tensors, operands)]
    model.signatureDefs = [_signature(schema, name, tensors) for name in signatures]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def _code(schema, version, custom):
    code = schema.OperatorCodeT()
    code.version = version
    kind = schema.BuiltinOperator.CUSTOM if custom else schema.BuiltinOperator.ADD
    code.builtinCode = code.deprecatedBuiltinCode = kind
    code.customCode = custom
    return code


def _graph(schema, tensors, operands):
    graph = schema.SubGraphT()
    graph.tensors = [_tensor(schema, one) for one in tensors]
    last = len(tensors) - 1
    graph.inputs, graph.outputs = list(range(last)), [last]
    op = schema.OperatorT()
    op.opcodeIndex, op.inputs, op.outputs = 0, operands, [last]
    op.builtinOptionsType = schema.BuiltinOptions.AddOptions
    op.builtinOptions = schema.AddOptionsT()
    graph.operators = [op]
    return graph


def _tensor(schema, one):
    tensor = schema.TensorT()
    tensor.name = f"tensor_{one.name}"
    tensor.type = getattr(schema.TensorType, one.kind)
    tensor.shape = [1 if size == -1 else size for size in one.shape]
    tensor.shapeSignature = list(one.shape)
    if one.scale:
        tensor.quantization = schema.QuantizationParametersT()
        tensor.quantization.scale, tensor.quantization.zeroPoint = [one.scale], [one.zero]
    return tensor


def _signature(schema, name, tensors):
    def mapped(number):
        entry = schema.TensorMapT()
        entry.name, entry.tensorIndex = tensors[number].name, number
        return entry

    signature = schema.SignatureDefT()
    signature.signatureKey = name
    signature.subgraphIndex = 0
    signature.inputs = [mapped(n) for n in range(len(tensors) - 1)]
    signature.outputs = [mapped(len(tensors) - 1)]
    return signature
