"""What an installed distribution says about its licence, and where it says so."""

import re
from typing import NamedTuple

NOT_STATED = "not stated"
# Ways of writing a name, and its SPDX identifier. "BSD" and "PSF" alone do not say which of several texts is meant.
SPDX = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license version 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd license": "BSD",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF",
}
_LONGEST_NAME = 80
_LICENCE_FILE = re.compile(r"(^|/)(licen[cs]e|copying)[^/]*$|\.dist-info/licenses/", re.IGNORECASE)
_GPL = re.compile(r"\b[AL]?GPL|GNU (lesser |affero |library )?general public licen[cs]e", re.IGNORECASE)
# For distributions whose metadata say nothing: the words by which a licence is known in a licence file or a README.
_IN_LICENCE_FILES = {
    "Apache-2.0": r"Apache License\s+Version 2\.0",
    "MIT": r"Permission is hereby granted, free of charge",
    "BSD": r"Redistribution and use in source and binary forms",
}
_IN_READMES = {
    "MIT": r"(released|licensed) under the \[?MIT Licen[cs]e",
    "Apache-2.0": r"(released|licensed) under the \[?Apache Licen[cs]e,? (Version )?2\.0",
    "BSD-3-Clause": r"(released|licensed) under the \[?BSD[- ]3-Clause",
}


class Stated(NamedTuple):
    """A licence and where it was found."""

    licence: str
    source: str


def stated_licence(distribution):
    """The licence of a distribution by its metadata, else by its files."""
    metadata = distribution.metadata
    if expression := metadata.get("License-Expression"):
        return Stated(expression, "License-Expression")
    written = _written(metadata.get("License"))
    classified = [_spdx(line) for line in metadata.get_all("Classifier", ()) if line.startswith("License ::")]
    classified = sorted({name for name in classified if name != "OSI Approved"})
    if written and not _agrees(written, classified):
        return Stated(f"{written}; by its classifiers {', '.join(classified)}", "License, Classifier")
    if written:
        return Stated(written, "License")
    if classified:
        return Stated(", ".join(classified), "Classifier")
    return _in_files(distribution)


def licence_files(distribution):
    """The licence files of a distribution as pairs of path and text."""
    for file in distribution.files or ():
        if ".dist-info/" in str(file) and _LICENCE_FILE.search(str(file)) and file.locate().is_file():
            yield str(file), file.locate().read_text(errors="replace")


def names_the_gpl(distribution):
    """The licence files that name the GPL, AGPL or LGPL, for whatever reason."""
    return sorted(path for path, text in licence_files(distribution) if _GPL.search(text))


def _written(field):
    """What the field License says, where it holds a name or begins with one; some hold a whole text."""
    lines = (field or "").strip().splitlines() or [""]
    first = lines[0].strip()
    name = SPDX.get(first.lower(), first)
    return name if len(first) <= _LONGEST_NAME and (len(lines) == 1 or name != first) else ""


def _agrees(written, classified):
    """Whether the classifiers say nothing that the field does not; the BSD classifier is for all BSD licences."""
    return all(name.removesuffix("-2.0") in written for name in classified)


def _spdx(classifier):
    name = classifier.split(" :: ")[-1]
    return SPDX.get(name.lower(), name)


def _in_files(distribution):
    for path, text in licence_files(distribution):
        if name := _known(_IN_LICENCE_FILES, text):
            return Stated(name, path)
    readme = distribution.read_text("METADATA") or ""
    if name := _known(_IN_READMES, readme):
        return Stated(name, "the README in METADATA")
    return Stated(NOT_STATED, "neither in the metadata nor in a file of the package")


def _known(patterns, text):
    return next((name for name, pattern in patterns.items() if re.search(pattern, text, re.IGNORECASE)), None)
