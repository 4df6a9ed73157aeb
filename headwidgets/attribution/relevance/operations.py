"""What torch's operations mean for relevance, by name."""

from typing import Any


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


MOVES = _names(
    "view reshape transpose permute contiguous expand expand_as getitem setitem cat concat concatenate stack split "
    "chunk unbind squeeze unsqueeze flatten unflatten to type_as float double type clone dropout masked_fill where "
    "gather index_select take_along_dim select narrow repeat repeat_interleave pad roll flip tril triu movedim "
    "moveaxis swapaxes swapdims view_as reshape_as tile max min amax amin topk sort alias index_add index_copy "
    "scatter scatter_add diagonal as_strided unfold hstack vstack ravel broadcast_to split_with_sizes tensor_split "
    "get t T mT detach identity requires_grad cpu cuda index_put masked_scatter copy"
)
"""Operations whose gradient hands relevance on as it is."""

ELEMENTWISE = _names(
    "gelu relu silu tanh sigmoid leaky_relu elu celu selu softplus hardtanh mish relu6 hardswish hardsigmoid prelu "
    "logsigmoid softsign threshold abs neg negative clamp clip exp log log1p expm1 pow square erf nan_to_num rrelu "
    "hardshrink softshrink tanhshrink sin cos positive pos"
)
"""Functions of one number: relevance passes as it is (the paper ignores non-linearities)."""

SCALES = _names("rsqrt sqrt var std norm vector_norm reciprocal rtruediv rdiv")
"""What divides is a constant."""

SUMS = _names("sum mean cumsum nansum")
"""Linear in their one tensor."""

PRODUCTS = _names("matmul rmatmul bmm mm mv dot")
"""Linear in each of their two tensors."""

HANDLED = _names(
    "add sub rsub mul div linear addmm baddbmm einsum conv1d softmax scaled_dot_product_attention layer_norm rms_norm"
)
"""Operations with a method of their own in `Tracing`."""


def plain_name(func: Any) -> tuple[str, bool]:
    """A torch function's name without underscores (``__iadd__`` is ``add``), and whether it works in place."""
    name = str(getattr(func, "__name__", func))
    in_place = name.endswith("_") and not name.endswith("__")
    bare = name.strip("_")
    if name.startswith("__i") and bare[1:] in ("add", "sub", "mul", "truediv", "div", "matmul"):
        bare = bare[1:]
    return {"truediv": "div", "true_divide": "div", "divide": "div", "multiply": "mul", "subtract": "sub",
            "radd": "add", "rmul": "mul"}.get(bare, bare), in_place  # fmt: skip
