"""The options of the methods: a frozen dataclass for each method that has options.

`lapwing.solve(cost, method=lapwing.Munkres(switch=True))`; a name alone, ``method="munkres"``, means the defaults. On
the command line: ``--method munkres --option switch=true``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, Literal, Self

from lapwing.errors import ArgumentError, DtypeError

_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _option(default: Any, help: str, choices: tuple[str, ...] = ()) -> Any:  # noqa: A002
    """A field: a flag, one of `choices`, or, if the default is a tuple, several of them."""
    return field(default=default, metadata={"help": help, "choices": choices})


@dataclass(frozen=True)
class MethodOptions:
    """The options of a method; its subclasses are the public ones."""

    method: ClassVar[str]

    def __post_init__(self) -> None:
        for spec in fields(self):
            object.__setattr__(self, spec.name, _checked(self.method, spec, getattr(self, spec.name)))

    def __str__(self) -> str:
        """The options that differ from the defaults."""
        values = {spec.name: getattr(self, spec.name) for spec in fields(self)}
        given = [f"{spec.name}={values[spec.name]!r}" for spec in fields(self) if values[spec.name] != spec.default]
        return f"{type(self).__name__}({', '.join(given)})"

    def compiled(self) -> dict[str, bool]:
        """The options that the compiled method takes, by its own names."""
        raise NotImplementedError

    @classmethod
    def from_text(cls, settings: Iterable[str]) -> Self:
        """Options from words such as ``switch=true``; several choices are parted by commas.

        Raises
        ------
        ArgumentError
        """
        specs = {spec.name: spec for spec in fields(cls)}
        given: dict[str, Any] = {}
        for setting in settings:
            name, equals, text = setting.partition("=")
            if not equals or name not in specs:
                known = ", ".join(f"{name}=" for name in specs)
                raise ArgumentError(f"{setting!r} is no option of method {cls.method!r}; it has {known}")
            default = specs[name].default
            if isinstance(default, bool):
                given[name] = _FLAGS.get(text.lower(), text)
            elif isinstance(default, tuple):
                given[name] = tuple(word for word in text.split(",") if word)
            else:
                given[name] = text
        return cls(**given)

    @classmethod
    def described(cls) -> list[str]:
        """A line for each option: its name, its values with the default first, and what it does."""
        lines = []
        for spec in fields(cls):
            default, choices = spec.default, spec.metadata["choices"]
            if isinstance(default, bool):
                values = "false|true" if not default else "true|false"
            elif isinstance(default, tuple):
                values = ",".join(choices)
            else:
                values = "|".join(sorted(choices, key=lambda choice: choice != spec.default))
            lines.append(f"{spec.name}={values}: {spec.metadata['help']}")
        return lines


def _checked(method: str, spec: Field[Any], value: Any) -> Any:
    """A value of the option's kind, several choices in their order."""
    choices, default = spec.metadata["choices"], spec.default
    assert default is not MISSING
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
        raise ArgumentError(f"option {spec.name!r} of method {method!r} must be True or False, got {value!r}")
    words = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [repr(value)]
    unknown = [word for word in words if word not in choices]
    if unknown or (isinstance(default, str) and not isinstance(value, str)):
        some = "some of " if isinstance(default, tuple) else ""
        raise ArgumentError(f"option {spec.name!r} of method {method!r} must be {some}{choices}, got {value!r}")
    return tuple(choice for choice in choices if choice in words) if isinstance(default, tuple) else value


#: The improvements of "munkres", in the order in which its two reports add them.
STAGES = ("reductions", "fused", "one_launch", "registers", "barrier")
_FASTEST = STAGES[:-1]


@dataclass(frozen=True)
class Munkres(MethodOptions):
    """Options of method "munkres"; each improvement can be measured alone.

    Parameters
    ----------
    stages : strings
        Of two later reports on the method: "reductions" of counters of zeros by row instead of one contended counter,
        "fused" subtraction and listing of zeros, "one_launch" for the whole solve, slack held in "registers", an extra
        "barrier" between the change of slack and its comparison. All but "barrier" unless given, which costs time on
        an H200. On a CPU "fused" and "one_launch" (threads that stay) mean something; the others change nothing.
    switch : bool
        Go on with shortest paths after an iteration that matched few rows.
    start : "greedy" or "regret"
        The order in which rows get their first zero: as they come, or by their regret (Vogel's rule).

    Raises
    ------
    ArgumentError
        For any other value.
    """

    method: ClassVar[str] = "munkres"
    stages: Iterable[str] = _option(
        _FASTEST, "improvements, parted by commas, all but barrier unless given; a CPU has fused and one_launch", STAGES
    )
    switch: bool = _option(False, "go on with shortest paths after an iteration that matched few rows")
    start: Literal["greedy", "regret"] = _option("greedy", "which rows get a zero first", ("greedy", "regret"))

    def compiled(self) -> dict[str, bool]:
        """The options that the compiled method takes (MunkresOptions in cpp/include/lapwing/methods.hpp)."""
        return {
            "fused": "fused" in self.stages,
            "one_launch": "one_launch" in self.stages,
            "by_regret": self.start == "regret",
            "switches": self.switch,
        }


@dataclass(frozen=True)
class Auction(MethodOptions):
    """Options of method "auction".

    Parameters
    ----------
    variant : "optimised" or "plain"
        Whether a row bids from a list of the columns that were its cheapest, or reads all of its costs each time.

    Raises
    ------
    ArgumentError
        For any other value.
    """

    method: ClassVar[str] = "auction"
    variant: Literal["optimised", "plain"] = _option(
        "optimised", "bids from lists of cheap columns, or from whole rows", ("optimised", "plain")
    )

    def compiled(self) -> dict[str, bool]:
        """The options that the compiled method takes (AuctionVariant in cpp/include/lapwing/methods.hpp)."""
        return {"from_rows": self.variant == "plain"}


_TEXT = ("least_v", "picked_v", "last_v", "whole_gap", "any_gap", "in_order", "stop_early", "compare_above")


@dataclass(frozen=True)
class Ssp(MethodOptions):
    """Options of method "ssp".

    Parameters
    ----------
    pricing : bool
        Whether phases with a falling epsilon come first; without, plain shortest augmenting paths from zero prices.
    text : strings
        Places in which the method follows the text of the paper, where its authors' published program does otherwise;
        none unless given. On a CPU only. "least_v": the first v is the smallest reduced cost of a column, not the
        second smallest. "picked_v": the greedy choice gets its prices row by row, as it is made, not backwards at its
        end. "last_v": the first phase starts at the last v, not at a mean with the first one. "whole_gap": epsilon_0 is
        formed of the whole gap that is left, not of at most a quarter of the first one. "any_gap": it is not 0 below a
        millionth of the first gap. "in_order": each phase takes the rows in their order, not every second one
        backwards. "stop_early": also the first phase can be followed by epsilon = 0, where its paths lowered v by more
        than epsilon did. "compare_above": no epsilon where epsilon_0 is above the least one, not below: as printed,
        which switches the method off; all others together are the paper's method.

    Raises
    ------
    ArgumentError
        For any other value.
    """

    method: ClassVar[str] = "ssp"
    pricing: bool = _option(True, "phases with a falling epsilon first")
    text: Iterable[str] = _option((), "places that follow the paper's text, not its program", _TEXT)

    def compiled(self) -> dict[str, bool]:
        """The options that the compiled method takes (SspOptions in cpp/include/lapwing/methods.hpp)."""
        return {"pricing": self.pricing} | {place: place in self.text for place in _TEXT}


OPTIONS: dict[str, type[MethodOptions]] = {options.method: options for options in (Munkres, Auction, Ssp)}


def name_and_options(method: str | MethodOptions) -> tuple[str, MethodOptions | None]:
    """The name of a method, and its options if it has any."""
    if isinstance(method, MethodOptions):
        return method.method, method
    if not isinstance(method, str):
        raise DtypeError(f"method must be a name, or options such as lapwing.Munkres(), got {method!r}")
    return method, OPTIONS[method]() if method in OPTIONS else None
