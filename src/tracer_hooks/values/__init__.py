"""What values a text states, and whether two are the same: quantities, dates, times, yes and no, lists, and words."""

from tracer_hooks.values._calculation import Calculation
from tracer_hooks.values._calculations import calculations_in
from tracer_hooks.values._comparing import AnswerComparison, compare_values
from tracer_hooks.values._date_calculations import WEEKDAYS, DateCalculation, date_calculations_in
from tracer_hooks.values._dates import DateValue, dates_in, days_apart, on_calendar, same_date
from tracer_hooks.values._mentions import items_of, mentions, mentions_in
from tracer_hooks.values._number_words import ONES
from tracer_hooks.values._open_expressions import Expression, expressions_in
from tracer_hooks.values._plain_mathematics import without_markup
from tracer_hooks.values._quantities import Quantity, quantities_in, same_quantity
from tracer_hooks.values._reader import TextReader
from tracer_hooks.values._times import TimeValue, same_time, times_in
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
