"""What numbers that are not finite usually come from, by where they appeared."""

from __future__ import annotations

from quickfit.tuning.numerics.op_watch import NumberTally

# Weights of a healthy model stay below 100 or so; ten thousand times that is no accident.
HUGE_WEIGHT = 1e6

_BY_OP = {
    "Log": "log(0) is -Inf and the log of a negative number is NaN: use log(x + 1e-7), or log1p.",
    "Log1p": "log1p(-1) is -Inf, and below -1 it is NaN: keep what goes in above -1.",
    "Sqrt": "The square root of a negative number is NaN: use sqrt(maximum(x, 0)).",
    "Rsqrt": "1/sqrt(0) is Inf: use rsqrt(x + 1e-7).",
    "SqrtGrad": "The slope of sqrt is infinite at 0: use sqrt(x + 1e-7).",
    "RsqrtGrad": "The slope of 1/sqrt is infinite at 0: use rsqrt(x + 1e-7).",
    "RealDiv": "A division by 0: add a small number to the divisor, or use divide_no_nan.",
    "Div": "A division by 0: add a small number to the divisor, or use divide_no_nan.",
    "Xdivy": "A division by 0: add a small number to the divisor, or use divide_no_nan.",
    "Reciprocal": "1/0 is Inf: add a small number to what goes in.",
    "ReciprocalGrad": "The slope of 1/x is infinite at 0: add a small number to what goes in.",
    "Pow": "A negative power of 0 is Inf, and a broken power of a negative number NaN.",
    "Exp": "exp overflows above 88 in float32 and above 11 in float16: subtract the maximum "
    "first, or use softmax, log_softmax or logsumexp.",
    "Expm1": "expm1 overflows above 88 in float32 and above 11 in float16: clip what goes in.",
    "Acos": "acos exists from -1 to 1 only: clip what goes in.",
    "Asin": "asin exists from -1 to 1 only: clip what goes in.",
    "Atanh": "atanh is infinite at -1 and 1: clip what goes in to a little less.",
    "Cast": "A number does not fit into the smaller type: see the range of what goes in.",
}
SOFTMAXES = ("Softmax", "LogSoftmax")
# Sums and products of finite numbers: only their size can be the reason.
_OVERFLOWING = (
    *("MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum", "Conv1D", "Conv2D", "Conv3D"),
    *("Add", "AddV2", "AddN", "BiasAdd", "Sub", "Mul", "Sum", "Mean", "Prod", "Square"),
    *("SquaredDifference", "_FusedMatMul"),
)
_FLOAT16 = (
    "float16 ends at 65504. Give this layer dtype='float32', scale its input down, or use "
    "mixed_bfloat16, which has the range of float32."
)


def of_op(op: str | None) -> str:
    """Return what is known of an operation of TensorFlow; empty if nothing is."""
    return _BY_OP.get(op or "", "")


def is_overflow(op: str | None) -> bool:
    """Tell whether finite numbers can only have grown too large in this operation."""
    return op in _OVERFLOWING


def of_infinities(op: str) -> str:
    """Say how an operation makes NaN of infinities that were meant, such as those of a mask."""
    if op in SOFTMAXES:
        return (
            "A row of only -Inf has no softmax: mask with -1e9 (-3e4 in float16), or keep one "
            "entry per row."
        )
    return (
        f"{op} makes NaN of infinities (Inf - Inf, 0 x Inf, Inf / Inf): use a large finite number "
        "instead, such as -1e9 (-3e4 in float16) in a mask."
    )


def of_recurrence(dtype: str) -> str:
    """Say that numbers have grown with every step of a recurrent layer."""
    return (
        f"An overflow: the state grows with every step of the sequence until {dtype} ends. Use "
        "activation='tanh', an LSTM or a GRU, smaller recurrent weights "
        "(recurrent_initializer='orthogonal'), or shorter sequences."
    )


def of_weights(largest: float, rate: float | None) -> str:
    """Say that the weights have exploded; empty if they have not.

    Args:
        largest: of the weights, without its sign.
        rate: the learning rate; None if unknown.
    """
    if largest <= HUGE_WEIGHT:
        return ""
    said = "" if rate is None else f" of {rate:.3g}"
    return (
        f"The weights of the model reach {largest:.3g}: former updates were far too large. Lower "
        f"the learning rate{said}, clip gradients (global_clipnorm=1.0), and start from weights "
        "that are still good."
    )


def of_layer(found: NumberTally, given: NumberTally | None, op: str | None) -> str:
    """Say why a layer turned finite numbers into others.

    Args:
        found: its output.
        given: its inputs; None if it had none that are numbers.
        op: the operation inside.
    """
    known = of_op(op)
    if found.dtype == "float16" and not _is_certain(op):
        return f"{known} {_FLOAT16}".strip() if op == "Exp" else _FLOAT16
    if known:
        return known
    if given is not None and given.largest > 1e18:
        return "What goes in is too large already: scale the input, or lower the learning rate."
    if is_overflow(op):
        return (
            f"An overflow: {op} of finite numbers went beyond the end of {found.dtype}. Scale "
            "what goes in, or look at the weights and at what is multiplied or added up."
        )
    return "Look for log, sqrt, exp and divisions in it: each needs a small number or a limit."


def of_weight(rate: float | None) -> str:
    """Say how a weight gets non-finite."""
    said = "" if rate is None else f" (the learning rate is {rate:.3g})"
    return (
        f"An update before this batch made it so{said}. Load weights that are still good, and "
        "train them with GuardedOptimizer: it leaves such updates out, and the batch can be "
        "looked at."
    )


def of_input(name: str) -> str:
    """Say what to do about data that is not finite."""
    return (
        "The data itself is not finite: missing values that became NaN, or a normalisation that "
        f"divided by 0. Find such samples with np.isfinite({name}) and repair or leave them out."
    )


def of_class(label: str, classes: str) -> str:
    """Say that a label is not the number of a class."""
    return (
        f"The label {label} is outside of the classes {classes}, which makes the loss NaN on a GPU "
        "and under XLA. Number the classes from 0, and give the last layer as many units as there "
        "are classes."
    )


def of_overflowing_input(largest: float, dtype: str) -> str:
    """Say that data does not fit into the type that Keras turns it into."""
    return f"{largest:.3g} does not fit into {dtype}, which Keras turns it into: scale the data."


def of_loss(op: str | None) -> str:
    """Say why a loss is not finite though what goes in is."""
    if op in ("Log", "Log1p", "Xlogy"):
        return (
            f"{of_op('Log')} Is from_logits right? The model's output must be logits for "
            "from_logits=True and probabilities (softmax, sigmoid) without it."
        )
    return of_op(op) or (
        "The model's output and the labels are finite, so the loss itself makes it: look for "
        "log(0), divisions by 0 (an empty mask, weights that add up to 0) and overflow."
    )


def of_gradient(op: str | None) -> str:
    """Say why gradients are not finite though the loss is."""
    return of_op(op) or (
        "Everything is finite on the way forward and not on the way back. Usual: sqrt or norm at "
        "0, a power below 1 at 0, and tf.where around an operation that is not defined "
        "everywhere: both sides of `where` have gradients, so make its input safe before."
    )


def of_scaled_gradient(scale: float) -> str:
    """Say that only the loss scale made gradients overflow."""
    return (
        f"Only the loss scale of {scale:g} makes them overflow in float16; without it they are "
        "finite. The LossScaleOptimizer leaves the update out and halves the scale: this is "
        "usual in the first steps and mends itself."
    )


def of_update(rate: float | None) -> str:
    """Say why an update is not finite though the gradients are."""
    said = "is not known" if rate is None else f"is {rate:.3g}"
    return (
        f"The gradients are finite, and the optimizer makes them non-finite. The learning rate "
        f"{said}: lower it, look at its schedule, or clip gradients (global_clipnorm=1.0)."
    )


def of_statistic() -> str:
    """Say why a statistic of a layer is not finite though its output is."""
    return (
        "The layer's output is finite and its moving average overflows, so that `evaluate` and "
        "`predict` go wrong while the training looks well. What goes into the layer is too large: "
        "scale the input, or lower the learning rate."
    )


def of_slot() -> str:
    """Say what a broken slot of an optimizer means."""
    return (
        "What the optimizer remembers of former gradients is not finite any more. Compile the "
        "model with a new optimizer; GuardedOptimizer keeps this from happening again."
    )


def _is_certain(op: str | None) -> bool:
    """Tell whether this operation fails for its arguments and not for the range of its type."""
    return op in ("Log", "Log1p", "Sqrt", "Rsqrt", "RealDiv", "Div", "Xdivy", "Reciprocal")
