"""From a tree of SQL to nodes."""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from streamshed.columnar.expressions import arithmetic, branches, comparison, logic
from streamshed.columnar.expressions.casts import CAST_TYPES, cast
from streamshed.columnar.expressions.coercion import DATE, INTEGERS, Builder, is_scalar_type, type_name
from streamshed.columnar.expressions.column_node import ColumnNode, constant, strict
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.expressions.functions import function_call
from streamshed.columnar.expressions.literals import literal_value
from streamshed.columnar.expressions.patterns import like, matching_regex
from streamshed.columnar.expressions.precedence import check_precedence
from streamshed.columnar.expressions.texts import concatenation
from streamshed.columnar.expressions.times import moved_date, moved_time
from streamshed.columnar.expressions.values import SureValues
from streamshed.columnar.untranslatable import Untranslatable
from streamshed.network.sql.sql_syntax import Syntax, TokenKind, Tree, read_sql

_BINARY: Mapping[type[Tree], Builder] = {
    exp.And: logic.both,
    exp.Or: logic.any_of,
    exp.EQ: comparison.comparison("="),
    exp.NEQ: comparison.comparison("!="),
    exp.LT: comparison.comparison("<"),
    exp.LTE: comparison.comparison("<="),
    exp.GT: comparison.comparison(">"),
    exp.GTE: comparison.comparison(">="),
    exp.NullSafeEQ: comparison.null_safe_equal,
    exp.Add: arithmetic.addition,
    exp.Sub: arithmetic.subtraction,
    exp.Mul: arithmetic.multiplication,
    exp.Div: arithmetic.division,
    exp.IntDiv: arithmetic.whole_division,
    exp.Mod: arithmetic.remainder,
    exp.BitwiseAnd: arithmetic.bitwise(pc.bit_wise_and),
    exp.BitwiseOr: arithmetic.bitwise(pc.bit_wise_or),
    exp.BitwiseXor: arithmetic.bitwise(pc.bit_wise_xor),
    exp.BitwiseLeftShift: arithmetic.shift(np.left_shift),
    exp.BitwiseRightShift: arithmetic.shift(np.right_shift),
    exp.DPipe: concatenation,
}
_UNARY: Mapping[type[Tree], Builder] = {
    exp.Not: logic.negation,
    exp.BitwiseNot: arithmetic.bitwise(pc.bit_wise_not),
}
_CALLS: Mapping[type[Tree], tuple[str, tuple[str, ...]]] = {
    exp.Substring: ("substring", ("this", "start", "length")),
    exp.Floor: ("floor", ("this", "decimals")),
    exp.Ceil: ("ceil", ("this", "decimals")),
}
"""Functions that the parser has trees for: their names, and where their arguments are."""
_EXTRACTED = {
    **{name: name for name in ("year", "quarter", "month", "day", "hour", "minute", "dayofweek")},
    "dow": "dayofweek",
    "doy": "dayofyear",
    "week": "weekofyear",
}


class Translation:
    """The translation of one expression.

    Attributes:
        types: The columns of the stream's schema.
        dialect: The session's settings.
        columns: The columns that were met, as they are called in the schema.
    """

    def __init__(self, types: Mapping[str, pa.DataType], dialect: Dialect) -> None:
        self.types = types
        self.dialect = dialect
        self.columns: set[str] = set()

    def root(self, sql: str) -> ColumnNode:
        """Translate an expression.

        Raises:
            Untranslatable: Spark has to evaluate it.
        """
        syntax = read_sql(sql)
        _check_texts(syntax)
        check_precedence(syntax)
        node = self.node(syntax.tree)
        if not is_scalar_type(node.type):
            raise Untranslatable(f"values of {type_name(node.type)} are evaluated by Spark")
        return node

    def node(self, tree: Tree) -> ColumnNode:
        """Translate a part of the expression."""
        kind = type(tree)
        if kind in _BINARY and not isinstance(tree.expression, exp.Interval):
            return _binary(self, tree)
        if kind in _UNARY:
            return _UNARY[kind](self.dialect, [self.node(tree.this)])
        if kind in _CALLS:
            name, keys = _CALLS[kind]
            return self.call(name, *(tree.args[key] for key in keys if tree.args.get(key) is not None))
        translate = _OTHERS.get(kind)
        if translate is None:
            raise Untranslatable(f"{_shown(tree)} is evaluated by Spark")
        return translate(self, tree)

    def call(self, name: str, *arguments: Tree) -> ColumnNode:
        """Translate a call of a function."""
        return function_call(name, self.dialect, [self.node(argument) for argument in arguments])


def _binary(translation: Translation, tree: Tree) -> ColumnNode:
    operands = [translation.node(tree.this), translation.node(tree.expression)]
    build = _BINARY[type(tree)]
    if isinstance(tree, exp.Add | exp.Sub) and operands[0].type == DATE and operands[1].type in INTEGERS:
        build = moved_date(1 if isinstance(tree, exp.Add) else -1)
    return build(translation.dialect, operands)


def _function(translation: Translation, tree: Tree) -> ColumnNode:
    return translation.call(tree.name, *tree.expressions)


def _paren(translation: Translation, tree: Tree) -> ColumnNode:
    if "start" not in tree.meta:
        raise Untranslatable("predicates beside each other are evaluated by Spark")
    return translation.node(tree.this)


def _literal(_: Translation, tree: Tree) -> ColumnNode:
    return constant(literal_value(tree))


def _opposite(translation: Translation, tree: Tree) -> ColumnNode:
    if isinstance(tree.this, exp.Literal) and not tree.this.is_string:
        return constant(literal_value(tree.this, negative=True))
    return arithmetic.opposite(translation.dialect, [translation.node(tree.this)])


def _column(translation: Translation, tree: Tree) -> ColumnNode:
    first, *fields = (part.name for part in _parts(tree))
    name = _named(first, translation.types)
    translation.columns.add(name)
    node = ColumnNode(translation.types[name], lambda rows: SureValues(rows.columns[name]))
    for field in fields:
        node = _field(node, field)
    if not is_scalar_type(node.type):
        raise Untranslatable(f'the column "{tree.sql()}" of {type_name(node.type)} is evaluated by Spark')
    return node


def _in(translation: Translation, tree: Tree) -> ColumnNode:
    if not tree.expressions:
        raise Untranslatable("IN without values is evaluated by Spark")
    return comparison.is_in(translation.dialect, [translation.node(each) for each in (tree.this, *tree.expressions)])


def _between(translation: Translation, tree: Tree) -> ColumnNode:
    if tree.args.get("symmetric") is not None:
        raise Untranslatable("BETWEEN SYMMETRIC is evaluated by Spark")
    operands = (tree.this, tree.args["low"], tree.args["high"])
    return comparison.between(translation.dialect, [translation.node(each) for each in operands])


def _is(translation: Translation, tree: Tree) -> ColumnNode:
    operand = translation.node(tree.this)
    if isinstance(tree.expression, exp.Boolean):
        return logic.is_truth(operand, truth=bool(tree.expression.this))
    return logic.missing(translation.dialect, [operand])


def _differs(translation: Translation, tree: Tree) -> ColumnNode:
    equal = comparison.null_safe_equal(
        translation.dialect, [translation.node(tree.this), translation.node(tree.expression)]
    )
    return logic.negation(translation.dialect, [equal])


def _like(translation: Translation, tree: Tree) -> ColumnNode:
    escape = "\\"
    if isinstance(tree, exp.Escape):
        tree, escape = tree.this, tree.expression.name
    if not isinstance(tree, exp.Like | exp.ILike) or len(escape) != 1:
        raise Untranslatable(f"{_shown(tree)} is evaluated by Spark")
    text, pattern = (
        translation.call("lower", side) if isinstance(tree, exp.ILike) else translation.node(side)
        for side in (tree.this, tree.expression)
    )
    node = like(text, pattern, escape)
    return logic.negation(translation.dialect, [node]) if tree.args.get("negate") else node


def _rlike(translation: Translation, tree: Tree) -> ColumnNode:
    if tree.args.get("flag") is not None:
        raise Untranslatable(f"{_shown(tree)} is evaluated by Spark")
    node = matching_regex(translation.node(tree.this), translation.node(tree.expression))
    return logic.negation(translation.dialect, [node]) if tree.args.get("negate") else node


def _case(translation: Translation, tree: Tree) -> ColumnNode:
    conditions = [translation.node(branch.this) for branch in tree.args["ifs"]]
    results = [translation.node(branch.args["true"]) for branch in tree.args["ifs"]]
    default = translation.node(tree.args.get("default") or exp.Null())
    if tree.this is None:
        return branches.case(translation.dialect, conditions, results, default)
    return branches.simple_case(translation.dialect, translation.node(tree.this), conditions, results, default)


def _if(translation: Translation, tree: Tree) -> ColumnNode:
    return translation.call("if", tree.this, tree.args["true"], tree.args.get("false") or exp.Null())


def _cast(translation: Translation, tree: Tree) -> ColumnNode:
    target = tree.args["to"]
    kind = CAST_TYPES.get(target.this.value.lower()) if not target.expressions else None
    if kind is None or tree.args.get("safe"):
        raise Untranslatable(f"the cast to {target.sql('spark').lower()} is evaluated by Spark")
    return cast(translation.node(tree.this), kind, translation.dialect)


def _trim(translation: Translation, tree: Tree) -> ColumnNode:
    if tree.args.get("position") or tree.expression is not None:
        raise Untranslatable("trimming other characters than spaces is evaluated by Spark")
    return translation.call("trim", tree.this)


def _extract(translation: Translation, tree: Tree) -> ColumnNode:
    name = _EXTRACTED.get(tree.name.lower())
    if name is None:
        raise Untranslatable(f"{_shown(tree)} is evaluated by Spark")
    return translation.call(name, tree.expression)


def _moved(translation: Translation, tree: Tree) -> ColumnNode:
    interval = tree.expression
    count = interval.this
    if not isinstance(tree, exp.Add | exp.Sub) or not isinstance(count, exp.Literal) or interval.unit is None:
        raise Untranslatable(f"{_shown(tree)} is evaluated by Spark")
    sign = "-" if isinstance(tree, exp.Sub) else ""
    return moved_time(translation.node(tree.this), f"{sign}{count.name}", interval.unit.name, translation.dialect)


def _parts(tree: Tree) -> list[Tree]:
    """The names of a column and its fields."""
    return [tree.args[key] for key in ("catalog", "db", "table", "this") if tree.args.get(key) is not None]


def _shown(tree: Tree) -> str:
    return f'"{tree.sql("spark")}"'


def _named(name: str, names: Mapping[str, object]) -> str:
    matches = [each for each in names if each.lower() == name.lower()]
    if len(matches) != 1:
        raise Untranslatable(f'the column "{name}" is not one of the stream')
    return matches[0]


def _field(node: ColumnNode, name: str) -> ColumnNode:
    if not pa.types.is_struct(node.type):
        raise Untranslatable(f'the field "{name}" of {type_name(node.type)} is evaluated by Spark')
    fields = {field.name: field.type for field in node.type}
    if len(fields) < node.type.num_fields:
        raise Untranslatable(f'"{name}" is one of several fields: Spark evaluates it')
    field = _named(name, fields)
    return strict(fields[field], lambda datum: SureValues(pc.struct_field(datum, field)), node)


def _check_texts(syntax: Syntax) -> None:
    for token in syntax.tokens:
        if token.kind is TokenKind.STRING and "\\" in token.text:
            raise Untranslatable(f"the text {token.text} with a backslash is evaluated by Spark")


_OTHERS: Mapping[type[Tree], Callable[[Translation, Tree], ColumnNode]] = {
    exp.Anonymous: _function,
    exp.Paren: _paren,
    exp.Neg: _opposite,
    exp.Column: _column,
    exp.In: _in,
    exp.Between: _between,
    exp.Is: _is,
    exp.NullSafeNEQ: _differs,
    exp.Case: _case,
    exp.RegexpLike: _rlike,
    exp.If: _if,
    exp.Trim: _trim,
    exp.Extract: _extract,
    **dict.fromkeys((exp.Literal, exp.Boolean, exp.Null), _literal),
    **dict.fromkeys((exp.Like, exp.ILike, exp.Escape), _like),
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    **dict.fromkeys((exp.Add, exp.Sub), _moved),
}
"""What is neither an operator nor a function."""
