"""Units and currencies: how they are written, what they are called here, and what they are worth in each other."""

from __future__ import annotations

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
    """What ``unit`` may mean: "cent" is a hundredth of several currencies, "pound" a mass and a currency."""
    return _READINGS.get(unit, ((unit, Fraction(1)),))


def common_measure(unit: str, other: str) -> tuple[Fraction, Fraction] | None:
    """What one of each is worth in the measure that both have; None where they measure different things."""
    if unit == other:
        return Fraction(1), Fraction(1)
    theirs = dict(readings(other))
    return next(((factor, theirs[measure]) for measure, factor in readings(unit) if measure in theirs), None)


_OTHER_CURRENCIES = "SEK NOK DKK PLN CZK HUF MXN NZD SGD KRW TRY ZAR"
_CURRENCY_WRITTEN = {
    "EUR": "€ EUR euro euros",
    "USD": "$ US$ USD dollar dollars",
    "GBP": "£ GBP",
    "JPY": "JPY yen",
    "CNY": "CNY RMB yuan",
    "CHF": "CHF francs",
    "INR": "₹ INR rupee rupees",
    "CAD": "C$ CAD",
    "AUD": "A$ AUD",
    "BRL": "R$ BRL",
    **{code: code for code in _OTHER_CURRENCIES.split()},
}
_CURRENCIES = frozenset((*_CURRENCY_WRITTEN, "¥"))
# name: (measure, factor to its base, ways to write it). Of one or two letters, case counts.
_TABLE: tuple[tuple[str, str, str, str], ...] = (
    ("mm", "length", "1/1000", "mm millimeter millimeters millimetre millimetres"),
    ("cm", "length", "1/100", "cm centimeter centimeters centimetre centimetres"),
    ("m", "length", "1", "m meter meters metre metres"),
    ("km", "length", "1000", "km kms kilometer kilometers kilometre kilometres"),
    ("inch", "length", "0.0254", "inch inches"),
    ("ft", "length", "0.3048", "ft foot feet"),
    ("yd", "length", "0.9144", "yd yard yards"),
    ("mi", "length", "1609.344", "mi mile miles"),
    ("m²", "area", "1", "m² m^2 sqm"),
    ("km²", "area", "1000000", "km² km^2"),
    ("ha", "area", "10000", "ha hectare hectares"),
    ("mg", "mass", "1/1000", "mg milligram milligrams"),
    ("g", "mass", "1", "g gram grams gramme grammes"),
    ("kg", "mass", "1000", "kg kgs kilo kilos kilogram kilograms"),
    ("t", "mass", "1000000", "t tonne tonnes"),
    ("oz", "mass", "28.349523125", "oz ounce ounces"),
    ("lb", "mass", "453.59237", "lb lbs"),
    ("ms", "time", "1/1000", "ms millisecond milliseconds"),
    ("s", "time", "1", "s sec secs second seconds"),
    ("min", "time", "60", "min mins minute minutes"),
    ("h", "time", "3600", "h hr hrs hour hours"),
    ("day", "time", "86400", "day days"),
    ("week", "time", "604800", "week weeks"),
    ("month", "calendar", "1", "month months"),
    ("year", "calendar", "12", "year years yr yrs"),
    ("ml", "volume", "1/1000", "ml mL milliliter milliliters millilitre millilitres"),
    ("cl", "volume", "1/100", "cl"),
    ("l", "volume", "1", "l L liter liters litre litres"),
    ("m³", "volume", "1000", "m³ m^3"),
    ("gal", "volume", "3.785411784", "gal gallon gallons"),
    ("bit", "data", "1/8", "bit bits"),
    ("B", "data", "1", "B byte bytes"),
    ("kB", "data", "1000", "kB KB kilobyte kilobytes"),
    ("MB", "data", "1000000", "MB megabyte megabytes"),
    ("GB", "data", "1000000000", "GB gigabyte gigabytes"),
    ("TB", "data", "1000000000000", "TB terabyte terabytes"),
    ("KiB", "data", "1024", "KiB"),
    ("MiB", "data", "1048576", "MiB"),
    ("GiB", "data", "1073741824", "GiB"),
    ("km/h", "speed", "1/3.6", "km/h kph kmh"),
    ("m/s", "speed", "1", "m/s"),
    ("mph", "speed", "0.44704", "mph"),
    ("W", "power", "1", "W watt watts"),
    ("kW", "power", "1000", "kW kilowatt kilowatts"),
    ("MW", "power", "1000000", "MW megawatt megawatts"),
    ("kWh", "energy", "1", "kWh"),
    ("MWh", "energy", "1000", "MWh"),
    ("Wh", "energy", "1/1000", "Wh"),
    ("J", "work", "1", "J joule joules"),
    ("kJ", "work", "1000", "kJ"),
    ("MJ", "work", "1000000", "MJ"),
    ("cal", "heat", "1", "cal"),
    ("kcal", "heat", "1000", "kcal"),
    ("N", "force", "1", "N newton newtons"),
    ("kN", "force", "1000", "kN"),
    ("MN", "force", "1000000", "MN"),
    ("Pa", "pressure", "1", "Pa"),
    ("hPa", "pressure", "100", "hPa"),
    ("kPa", "pressure", "1000", "kPa"),
    ("MPa", "pressure", "1000000", "MPa"),
    ("bar", "pressure", "100000", "bar"),
    ("V", "voltage", "1", "V volt volts"),
    ("mV", "voltage", "1/1000", "mV"),
    ("kV", "voltage", "1000", "kV"),
    ("A", "current", "1", "A ampere amperes amps"),
    ("mA", "current", "1/1000", "mA"),
    ("Ω", "resistance", "1", "Ω ohm ohms"),
    ("kΩ", "resistance", "1000", "kΩ"),
    ("Hz", "frequency", "1", "Hz hertz"),
    ("kHz", "frequency", "1000", "kHz"),
    ("MHz", "frequency", "1000000", "MHz"),
    ("GHz", "frequency", "1000000000", "GHz"),
    ("%", "ratio", "1/100", "% percent pct"),
    ("‰", "ratio", "1/1000", "‰"),
    # Temperatures are not converted: their zeros differ.
    ("°C", "°C", "1", "°C"),
    ("°F", "°F", "1", "°F"),
    ("°", "°", "1", "° degree degrees"),
    ("¥", "JPY", "1", "¥"),
    ("cent", "cent", "1", "¢ ct cent cents"),
    ("pound", "pound", "1", "pound pounds"),
    ("penny", "GBP", "1/100", "pence penny"),
    *((code, code, "1", written) for code, written in _CURRENCY_WRITTEN.items()),
)


def _factor(text: str) -> Fraction:
    numerator, _, denominator = text.partition("/")
    return Fraction(numerator) / Fraction(denominator or 1)


_SYMBOLS = {written: name for name, _, _, ways in _TABLE for written in ways.split()}
_WORDS = {
    written.casefold(): name
    for name, _, _, ways in _TABLE
    for written in ways.split()
    # "K" and "KM" are read as "km"; "mW" is not "MW", "5 B" is no "b".
    if len(written) > 2 or written in ("km", "kg", "cm", "mm", "ml", "lb", "oz", "ft")
}
_READINGS: dict[str, tuple[Reading, ...]] = {
    name: ((measure, _factor(factor)),) for name, measure, factor, _ in _TABLE
} | {
    "¥": (("JPY", Fraction(1)), ("CNY", Fraction(1))),
    "cent": tuple((currency, Fraction(1, 100)) for currency in ("EUR", "USD", "CAD", "AUD")),
    "pound": (("mass", Fraction("453.59237")), ("GBP", Fraction(1))),
}
