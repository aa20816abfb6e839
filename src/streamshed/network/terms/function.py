"""References to users' vectorized functions, comparable across processes."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from streamshed.errors import InvalidNetworkError, Problem, closest_name
from streamshed.network.terms.function_state import importable_name, state_digest


@dataclass(frozen=True, slots=True)
class FunctionReference:
    """A function by its name, and, where the name does not lead back to it, by its code.

    Attributes:
        name: "module:qualified name".
        state_digest: Digest of the code of a lambda or local function, and of all that it, a bound method or a callable
            object holds; the same in every process; empty where the name suffices.
        callable: The function, where it is at hand.
    """

    name: str
    state_digest: str = ""
    callable: Callable[..., Any] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        module, colon, qualified_name = self.name.partition(":")
        if not (module and colon and qualified_name):
            raise InvalidNetworkError(Problem('a function is named "module:function"', got=f'"{self.name}"'))

    def resolve(self) -> Callable[..., Any]:
        """Return the function, importing its module where needed.

        Raises:
            InvalidNetworkError: There is no such module or function, or it cannot be called.
        """
        return self.callable if self.callable is not None else _imported(self.name)

    @property
    def definition(self) -> str:
        """The text that identifies the function in every process."""
        return f"{self.name}#{self.state_digest}" if self.state_digest else self.name


def function_reference(function: Callable[..., Any] | str) -> FunctionReference:
    """Refer to a function, given itself or its name.

    Args:
        function: A function of pandas Series, or "module:function".

    Raises:
        InvalidNetworkError: It is neither, or holds what cannot be compared with the same after a restart.

    Example:
        >>> import json
        >>> function_reference(json.dumps) == function_reference("json:dumps")
        True
        >>> function_reference(lambda size: size + 1) == function_reference(lambda size: size + 2)
        False
    """
    if isinstance(function, str):
        return FunctionReference(function)
    if not callable(function):
        raise InvalidNetworkError(Problem('apply needs a function or "module:function"', got=repr(function)))
    name = importable_name(function)
    if name is not None:
        return FunctionReference(name, callable=function)
    named = function if hasattr(function, "__qualname__") else type(function)
    return FunctionReference(f"{named.__module__}:{named.__qualname__}", state_digest(function), function)


def _imported(name: str) -> Callable[..., Any]:
    module_name, _, qualified_name = name.partition(":")
    try:
        value: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise InvalidNetworkError(f'cannot import the function "{name}": {error}') from error
    for attribute in qualified_name.split("."):
        if not hasattr(value, attribute):
            near_miss = closest_name(attribute, dir(value))
            raise InvalidNetworkError(
                Problem(f'there is no "{attribute}" for the function "{name}"', near_miss=near_miss)
            )
        value = getattr(value, attribute)
    if not callable(value):
        raise InvalidNetworkError(f'"{name}" is no function but {type(value).__name__}')
    function: Callable[..., Any] = value
    return function
