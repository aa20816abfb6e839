"""What a function without an importable name does, as far as it can be told: its code and all that it holds."""

from __future__ import annotations

import copyreg
import functools
import json
import pickle
import sys
from collections.abc import Callable, Collection, Iterable
from hashlib import blake2b
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from streamshed.errors import InvalidNetworkError

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_PICKLE_PROTOCOL = 5
_CHANGING = (list, dict, set, bytearray)
_BESIDE_CODE = frozenset(
    (
        *("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__firstlineno__"),
        *("__static_attributes__", "_abc_impl"),
    )
)
"""What a class holds that has nothing to do with what it does."""


def state_digest(function: Callable[..., Any]) -> str:
    """Return a digest by which a function can be told from others, the same in every process.

    Functions with equal code that hold equal values (captured, defaults, bound, the fields of a callable object) have
    the same digest; with other values another. What code refers to by a global name counts by that name only.

    Raises:
        InvalidNetworkError: It holds something that cannot be compared, such as a lock or a connection.

    Example:
        >>> scaled = functools.partial(pow, 2)
        >>> state_digest(scaled) == state_digest(functools.partial(pow, 2))
        True
        >>> state_digest(scaled) == state_digest(functools.partial(pow, 3))
        False
    """
    state = json.dumps(_Instance().of(function))
    return blake2b(state.encode(), digest_size=12).hexdigest()


def behavior_digest(thing: object, *, without: Collection[str] = ()) -> str:
    """Return a digest of what an object of the user's can do and holds: of its classes' code, and of its fields.

    Other than `state_digest` it looks behind the names of importable classes: where their code has changed it is
    another. What that code refers to by a global name counts by that name only, and what classes hold that may change
    while they are used, as lists do, does not count.

    Args:
        thing: The object.
        without: Names of what is left out of its classes.

    Raises:
        InvalidNetworkError: It holds something that cannot be compared.

    Example:
        >>> class Sum:
        ...     def incr(self, state, value):
        ...         return state + value
        >>> before = behavior_digest(Sum())
        >>> Sum.final = lambda self, state: state
        >>> behavior_digest(Sum(), without=("final",)) == before
        True
        >>> Sum.incr = lambda self, state, value: state - value
        >>> behavior_digest(Sum(), without=("final",)) == before
        False
    """
    state = _Instance()
    of_classes = [
        (kind.__qualname__, name, state.of_content(held))
        for kind in type(thing).__mro__[:-1]
        for name, held in sorted(vars(kind).items())
        if name not in _BESIDE_CODE and name not in without and not isinstance(held, _CHANGING)
    ]
    fields = state.of(thing.__getstate__())
    return blake2b(json.dumps([of_classes, fields]).encode(), digest_size=12).hexdigest()


def importable_name(thing: object) -> str | None:
    """Return "module:qualified name" where that leads back to a thing, else None.

    >>> importable_name(json.dumps), importable_name(lambda: 1)
    ('json:dumps', None)
    """
    module, qualified_name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if not (isinstance(module, str) and isinstance(qualified_name, str)):
        return None
    imported: object = sys.modules.get(module)
    for attribute in qualified_name.split("."):
        imported = getattr(imported, attribute, None)
    return f"{module}:{qualified_name}" if imported is thing else None


class _Instance:
    """Writes values as what JSON can write; what is met again inside itself is named by its place."""

    def __init__(self) -> None:
        self._open: list[object] = []

    def of(self, value: object) -> object:
        if isinstance(value, _PLAIN):
            return [type(value).__name__, repr(value)]
        for depth, held in enumerate(self._open):
            if held is value:
                return ["again", depth]
        self._open.append(value)
        try:
            return self._of_object(value)
        finally:
            self._open.pop()

    def of_content(self, value: object) -> object:
        """Write a function's code, even where the function has a name; all else as it is written anyway."""
        match value:
            case FunctionType():
                return self._of_code(value)
            case staticmethod() | classmethod():
                return [type(value).__name__, self.of_content(value.__func__)]
            case _:
                return self.of(value)

    def _of_object(self, value: object) -> object:
        name = importable_name(value)
        if name is not None:
            return ["named", name]
        match value:
            case ModuleType():
                return ["module", value.__name__]
            case CodeType() | FunctionType() | MethodType() | functools.partial():
                return [type(value).__name__, *self._of_code(value)]
            case type():
                held = {name: held for name, held in vars(value).items() if name not in _BESIDE_CODE}
                return ["class", value.__qualname__, self._each(value.__bases__), self._of_items(held)]
            case staticmethod() | classmethod():
                return [type(value).__name__, self.of(value.__func__)]
            case property():
                return ["property", self._each((value.fget, value.fset, value.fdel))]
            case tuple() | list() | set() | frozenset() | dict():
                return [type(value).__name__, *self._of_items(value)]
            case _:
                return self._of_fields(value)

    def _of_code(self, value: CodeType | FunctionType | MethodType | functools.partial[Any]) -> list[object]:
        held: tuple[object, ...]
        match value:
            case CodeType():
                return [value.co_code.hex(), self._each(value.co_consts), value.co_names, value.co_varnames]
            case FunctionType():
                closed = [cell.cell_contents for cell in value.__closure__ or ()]
                held = (value.__code__, closed, value.__defaults__, value.__kwdefaults__)
            case MethodType():
                held = (value.__func__, value.__self__)
            case _:
                held = (value.func, value.args, value.keywords)
        return self._each(held)

    def _of_items(self, value: Iterable[object]) -> list[object]:
        if isinstance(value, dict):
            return self._each(value.items())
        items = self._each(value)
        return sorted(items, key=json.dumps) if isinstance(value, set | frozenset) else items

    def _of_fields(self, value: object) -> list[object]:
        """The type and the fields; the bytes that pickle writes where it knows better, or there are no fields."""
        kind = importable_name(type(value))
        if kind is not None and hasattr(value, "__dict__") and _is_told_by_fields(type(value)):
            return ["object", kind, self.of(value.__getstate__())]
        try:
            return ["pickled", pickle.dumps(value, _PICKLE_PROTOCOL).hex()]
        except Exception as error:
            function = self._open[0]
            raise InvalidNetworkError(
                f"apply: the function {getattr(function, '__qualname__', function)!r} holds {value!r}, which cannot be"
                f" compared with what it holds after a restart ({error}): define it at the top of a module, and let it"
                " make or look up there what it needs"
            ) from error

    def _each(self, values: Iterable[object]) -> list[object]:
        return [self.of(value) for value in values]


def _is_told_by_fields(kind: type) -> bool:
    """Whether the class leaves it to Python how its objects are copied."""
    return kind not in copyreg.dispatch_table and all(
        getattr(kind, method) is getattr(object, method) for method in ("__reduce__", "__reduce_ex__", "__getstate__")
    )
