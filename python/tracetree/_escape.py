"""Escapes text from traces for readers that act on text: terminals, logs and language models."""

from __future__ import annotations

import re
import unicodedata

#: Names that Python and C++ put in angle brackets. All other names in angle brackets could be markup.
PLAIN = (
    "lambda|module|listcomp|setcomp|dictcomp|genexpr|locals|string|stdin|built-in|frozen|unknown|eval_with_key|"
    "float|double|int|unsigned|signed|bool|char|short|long|half|void|const|true|false"
)

#: The beginning of a tag, a closing tag, a comment, or a special token such as ``<|end|>``.
TAG = re.compile(rf"<(?=[/!?|]|(?!(?:{PLAIN})\b)[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?(?:[\s/>]|$))")

#: Categories of characters that are not displayed: control, format (such as U+202E), surrogates, line and paragraph
#: separators.
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def shown(text: str) -> str:
    """The text on one line. Characters that are not displayed, and the brackets of markup, are escaped as in JSON."""
    if text.isascii() and text.isprintable():
        return TAG.sub(r"\\u003c", text)
    letters = (escaped(letter) if unicodedata.category(letter) in HIDDEN else letter for letter in text)
    return TAG.sub(r"\\u003c", "".join(letters))


def escaped(letter: str) -> str:
    """The JSON escape of a character."""
    known = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(letter)
    if known is not None:
        return known
    code = ord(letter)
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + (code - 0x10000 >> 10):04x}\\u{0xDC00 + (code - 0x10000 & 0x3FF):04x}"
