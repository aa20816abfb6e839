"""References to users' vectorized functions, comparable across processes."""

import importlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from types import CodeType, FunctionType
from typing import Any

from streamshed.errors import InvalidNetworkError, near_miss

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


@dataclass(frozen=True, slots=True)
class FunctionReference:
    """A function by its name, and, where the name does not lead back to it, by its code.

    Attributes:
        name: "module:qualified name".
        code_digest: Digest of code, constants, defaults and captured values of a lambda or local function;
            the same in every process; empty where the name suffices.
        captured: The objects a local function has captured that have no such digest, compared by identity.
        callable: The function, where it is at hand.
    """

    name: str
    code_digest: str = ""
    captured: tuple[int, ...] = ()
    callable: Callable[..., Any] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        module, colon, qualified_name = self.name.partition(":")
        if not (module and colon and qualified_name):
            raise InvalidNetworkError(f'a function is named "module:function", got "{self.name}"')

    def resolve(self) -> Callable[..., Any]:
        """Return the function, importing its module where needed.

        Raises:
            InvalidNetworkError: There is no such module or function, or it cannot be called.
        """
        return self.callable if self.callable is not None else _imported(self.name)

    @property
    def definition(self) -> str:
        """The text that identifies the function in every process."""
        return f"{self.name}#{self.code_digest}" if self.code_digest else self.name


def function_reference(function: Callable[..., Any] | str) -> FunctionReference:
    """Refer to a function, given itself or its name.

    Args:
        function: A function of pandas Series, or "module:function".

    Raises:
        InvalidNetworkError: It is neither.

    Example:
        >>> function_reference(json.dumps) == function_reference("json:dumps")
        True
        >>> function_reference(lambda size: size + 1) == function_reference(lambda size: size + 2)
        False
    """
    if isinstance(function, str):
        return FunctionReference(function)
    if not callable(function):
        raise InvalidNetworkError(f'apply needs a function or "module:function", got {function!r}')
    named = function if hasattr(function, "__qualname__") else type(function)
    name = f"{named.__module__}:{named.__qualname__}"
    if _found(name) is function:
        return FunctionReference(name, callable=function)
    if not isinstance(function, FunctionType):
        return FunctionReference(name, captured=(id(function),), callable=function)
    captured: list[int] = []
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    state = [
        _code(function.__code__),
        [_value(value, captured) for value in values],
        [_value(value, captured) for value in function.__defaults__ or ()],
        sorted((key, _value(value, captured)) for key, value in (function.__kwdefaults__ or {}).items()),
    ]
    digest = blake2b(json.dumps(state).encode(), digest_size=12).hexdigest()
    return FunctionReference(name, digest, tuple(captured), function)


def _imported(name: str) -> Callable[..., Any]:
    module_name, _, qualified_name = name.partition(":")
    try:
        value: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise InvalidNetworkError(f'cannot import the function "{name}": {error}') from error
    for attribute in qualified_name.split("."):
        if not hasattr(value, attribute):
            raise InvalidNetworkError(
                f'there is no "{attribute}" for the function "{name}"{near_miss(attribute, dir(value))}'
            )
        value = getattr(value, attribute)
    if not callable(value):
        raise InvalidNetworkError(f'"{name}" is no function but {type(value).__name__}')
    function: Callable[..., Any] = value
    return function


def _found(name: str) -> object:
    module_name, _, qualified_name = name.partition(":")
    value: object = sys.modules.get(module_name)
    for attribute in qualified_name.split("."):
        value = getattr(value, attribute, None)
    return value


def _code(code: CodeType) -> list[object]:
    constants = [_code(c) if isinstance(c, CodeType) else _value(c, []) for c in code.co_consts]
    return [code.co_code.hex(), constants, code.co_names, code.co_varnames, code.co_freevars]


def _value(value: object, captured: list[int]) -> object:
    """What JSON can write to tell the value from others in every process, as far as that goes."""
    if isinstance(value, _PLAIN):
        return [type(value).__name__, repr(value)]
    if isinstance(value, tuple):
        return ["tuple", *(_value(item, captured) for item in value)]
    if isinstance(value, frozenset):
        return ["frozenset", *sorted(json.dumps(_value(item, captured)) for item in value)]
    if isinstance(value, CodeType):
        return _code(value)
    captured.append(id(value))
    return ["object", type(value).__module__, type(value).__qualname__]
