"""Values that a text states, and whether two are the same: quantities, dates, times, yes and no, lists, and words."""

from tracer_hooks.values._calculation import Calculation
from tracer_hooks.values._calculations import calculations_in
from tracer_hooks.values._comparing import AnswerComparison, compare_values
from tracer_hooks.values._dates import (
    WEEKDAYS,
    DateCalculation,
    DateValue,
    TimeValue,
    date_calculations_in,
    dates_in,
    days_apart,
    on_calendar,
    same_date,
    same_time,
    times_in,
)
from tracer_hooks.values._expressions import TextReader, without_markup
from tracer_hooks.values._mentions import items_of, mentions, mentions_in
from tracer_hooks.values._numerals import ONES
from tracer_hooks.values._quantities import Quantity, quantities_in, same_quantity
from tracer_hooks.values._signed_calculations import Expression, expressions_in
from tracer_hooks.values._units import common_measure, currency_named, readings

__all__ = [
    "ONES",
    "WEEKDAYS",
    "AnswerComparison",
    "Calculation",
    "DateCalculation",
    "DateValue",
    "Expression",
    "Quantity",
    "TextReader",
    "TimeValue",
    "calculations_in",
    "common_measure",
    "compare_values",
    "currency_named",
    "date_calculations_in",
    "dates_in",
    "days_apart",
    "expressions_in",
    "items_of",
    "mentions",
    "mentions_in",
    "on_calendar",
    "quantities_in",
    "readings",
    "same_date",
    "same_quantity",
    "same_time",
    "times_in",
    "without_markup",
]
