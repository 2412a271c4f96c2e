"""Units and currencies: how they are written, what they are called here, and what they are worth in each other."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

Reading = tuple[str, Fraction]
"""One meaning of a unit: what it measures, and how much of that measure's base one of it is."""


def unit_named(written: str) -> str | None:
    """The name that is used here for a unit as it is written; None for a word that is no unit."""
    return _SYMBOLS.get(written) or _WORDS.get(written.casefold())


def currency_named(written: str) -> str | None:
    """As :func:`unit_named`, for currencies only: they alone may stand before their number."""
    name = unit_named(written)
    return name if name in _CURRENCIES else None


def is_currency(unit: str | None) -> bool:
    """Tell whether ``unit`` is a currency."""
    return unit in _CURRENCIES


def readings(unit: str) -> tuple[Reading, ...]:
    """The meanings of ``unit``: "cent" is a hundredth of several currencies, "pound" a mass and a currency."""
    return _READINGS.get(unit, ((unit, Fraction(1)),))


def common_measure(unit: str, other: str) -> tuple[Fraction, Fraction] | None:
    """The worth of one of each in the measure that both have; None where they measure different things."""
    if unit == other:
        return Fraction(1), Fraction(1)
    theirs = dict(readings(other))
    return next(((factor, theirs[measure]) for measure, factor in readings(unit) if measure in theirs), None)


# Of a measure, each unit with its factor to the base and further ways to write it. Of one or two letters, case counts.
# Temperatures are not converted: their zeros differ.
_MEASURES = {
    "length": "mm 1/1000 millimeter millimeters millimetre millimetres, "
    "cm 1/100 centimeter centimeters centimetre centimetres, m 1 meter meters metre metres, "
    "km 1000 kms kilometer kilometers kilometre kilometres, inch 0.0254 inches, ft 0.3048 foot feet, "
    "yd 0.9144 yard yards, mi 1609.344 mile miles",
    "area": "m² 1 m^2 sqm, km² 1000000 km^2, ha 10000 hectare hectares",
    "mass": "mg 1/1000 milligram milligrams, g 1 gram grams gramme grammes, "
    "kg 1000 kgs kilo kilos kilogram kilograms, t 1000000 tonne tonnes, oz 28.349523125 ounce ounces, "
    "lb 453.59237 lbs",
    "time": "ms 1/1000 millisecond milliseconds, s 1 sec secs second seconds, min 60 mins minute minutes, "
    "h 3600 hr hrs hour hours, day 86400 days, week 604800 weeks",
    "calendar": "month 1 months, year 12 years yr yrs",
    "volume": "ml 1/1000 mL milliliter milliliters millilitre millilitres, cl 1/100, "
    "l 1 L liter liters litre litres, m³ 1000 m^3, gal 3.785411784 gallon gallons",
    "data": "bit 1/8 bits, B 1 byte bytes, kB 1000 KB kilobyte kilobytes, MB 1000000 megabyte megabytes, "
    "GB 1000000000 gigabyte gigabytes, TB 1000000000000 terabyte terabytes, KiB 1024, MiB 1048576, "
    "GiB 1073741824",
    "speed": "km/h 1/3.6 kph kmh, m/s 1, mph 0.44704",
    "power": "W 1 watt watts, kW 1000 kilowatt kilowatts, MW 1000000 megawatt megawatts",
    "energy": "kWh 1, MWh 1000, Wh 1/1000",
    "work": "J 1 joule joules, kJ 1000, MJ 1000000",
    "heat": "cal 1, kcal 1000",
    "force": "N 1 newton newtons, kN 1000, MN 1000000",
    "pressure": "Pa 1, hPa 100, kPa 1000, MPa 1000000, bar 100000",
    "voltage": "V 1 volt volts, mV 1/1000, kV 1000",
    "current": "A 1 ampere amperes amps, mA 1/1000",
    "resistance": "Ω 1 ohm ohms, kΩ 1000",
    "frequency": "Hz 1 hertz, kHz 1000, MHz 1000000, GHz 1000000000",
    "ratio": "% 1/100 percent pct, ‰ 1/1000",
    "°C": "°C 1",
    "°F": "°F 1",
    "°": "° 1 degree degrees",
}
# Of a currency, the ways to write it beside its code.
_CURRENCY_SIGNS = {
    "EUR": "€ euro euros",
    "USD": "$ US$ dollar dollars",
    "GBP": "£",
    "JPY": "yen",
    "CNY": "RMB yuan",
    "CHF": "francs",
    "INR": "₹ rupee rupees",
    "CAD": "C$",
    "AUD": "A$",
    "BRL": "R$",
}
_OTHER_CURRENCIES = "SEK NOK DKK PLN CZK HUF MXN NZD SGD KRW TRY ZAR"
_CURRENCIES = frozenset((*_CURRENCY_SIGNS, *_OTHER_CURRENCIES.split(), "¥"))


def _table() -> Iterator[tuple[str, str, Fraction, list[str]]]:
    """The name of each unit, its measure, its factor to the base and the ways to write it."""
    for measure, units in _MEASURES.items():
        for unit in units.split(", "):
            name, factor, *ways = unit.split()
            yield name, measure, _factor(factor), [name, *ways]
    for code in _CURRENCIES - {"¥"}:
        yield code, code, Fraction(1), [code, *_CURRENCY_SIGNS.get(code, "").split()]


def _factor(text: str) -> Fraction:
    numerator, _, denominator = text.partition("/")
    return Fraction(numerator) / Fraction(denominator or 1)


_SEVERAL: dict[str, tuple[Reading, ...]] = {
    "¥": (("JPY", Fraction(1)), ("CNY", Fraction(1))),
    "cent": tuple((currency, Fraction(1, 100)) for currency in ("EUR", "USD", "CAD", "AUD")),
    "pound": (("mass", Fraction("453.59237")), ("GBP", Fraction(1))),
    "penny": (("GBP", Fraction(1, 100)),),
}
"""Units that may mean several things, or are parts of currencies."""
_READINGS = {name: ((measure, factor),) for name, measure, factor, _ in _table()} | _SEVERAL
_SYMBOLS = {written: name for name, _, _, ways in _table() for written in ways}
_SYMBOLS |= {"¥": "¥", "¢": "cent", "ct": "cent", "cent": "cent", "cents": "cent", "pound": "pound", "pounds": "pound"}
_SYMBOLS |= {"pence": "penny", "penny": "penny"}
# "K" and "KM" are read as "km"; "mW" is not "MW", "5 B" is no "b".
_WORDS = {
    written.casefold(): name
    for written, name in _SYMBOLS.items()
    if len(written) > 2 or written in ("km", "kg", "cm", "mm", "ml", "lb", "oz", "ft")
}
