r"""Patterns as browsers read them: each row is checked against what ECMAScript says."""

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from webmcp_agent.agent.patterns import PatternTooSlow, is_usable, occurs

MATCHES: dict[str, tuple[str, list[str], list[str]]] = {
    "anchors": ("^ab$", ["ab"], ["ab\n", "xab", "abx"]),
    "unanchored": ("b", ["abc"], ["ac"]),
    "digits are ASCII": (r"^\d+$", ["12"], ["१२", "x"]),
    "words are ASCII": (r"^\w+$", ["a_1"], ["é", "-"]),
    "no digits, no words": (r"^\D\W$", ["é-", "xé"], ["1-", "aa"]),
    "spaces": (r"^\s\S$", ["\ufeffa", "\u2028b"], ["\x1ca", "  "]),
    "spaces in a set": (r"^[^\s\d]+$", ["ab\x1c"], ["a b", "1"]),
    "complements in a set": (r"^[\D]$", ["a", "é", "\U0001f600"], ["1", "7"]),
    "no words in a set": (r"^[\W]$", ["-", "é", "`", "["], ["a", "_", "Z"]),
    "no spaces in a set": (r"^[\S]$", ["a", "\x1c", "\u2027"], [" ", "\ufeff", "\xa0"]),
    "a dot is no line break": ("^a.c$", ["abc", "a\x85c"], ["a\nc", "a\rc", "a\u2028c"]),
    "word edges are ASCII": (r"^é\bx", ["éx"], ["éé"]),
    "no word edge": (r"a\Bé", [], ["aé"]),
    "a hyphen beside a class": (r"^[\w-.]+$", ["a-b.c"], ["a b"]),
    "a hyphen before a class": (r"^[.-\d]+$", ["1-2.3"], ["a"]),
    "a hyphen that makes a range": (r"^[a-c]+$", ["abc"], ["-"]),
    "a hyphen after an escaped backslash": (r"^[\\-a]+$", ["\\]a"], ["-"]),
    "a bracket in a set": ("^[[a]+$", ["[a"], ["b"]),
    "a class of POSIX is none": ("^[[:alpha:]]$", ["a]", ":]", "[]"], ["a", "b]"]),
    "set operators are characters": ("^[a&&b]+$", ["a&b"], ["c"]),
    "any character": ("^[^]$", ["\n", "a"], ["", "ab"]),
    "no character": ("^[]$", [], ["", "a"]),
    "braces that are no quantifier": ("^a{e}$", ["a{e}"], ["a", "e"]),
    "an open lower bound is none": ("^a{,2}$", ["a{,2}"], ["aa"]),
    "quantifiers": ("^a{2}b{1,}c{0,1}?$", ["aabb", "aabc"], ["ab", "aab" + "cc"]),
    "groups": ("^(?:a|b)(?=c)(?!d)c(?<=c)(?<!d)$", ["ac", "bc"], ["c"]),
    "a named group": (r"^(?<day>\d)\k<day>$", ["11"], ["12"]),
    "a numbered group": (r"^(a|b)\1c$", ["aac", "bbc"], ["abc"]),
    "properties": (r"^\p{Lu}\p{Script=Greek}\P{L}$", ["Aα1"], ["aα1", "Aab"]),
    "code units": (r"^\x41\u00e9\u{1F600}\uD83D\uDE00$", ["Aé😀😀"], ["A"]),
    "controls": (r"^\t\n\v\f\r\cJ\0$", ["\t\n\x0b\x0c\r\n\0"], ["t"]),
    "a backspace": (r"^[\b]$", ["\b"], ["b"]),
    "escaped marks": (r"^\/\.\-\$\_\{$", ["/.-$_{"], ["x"]),
    "letters and marks of Python": ("^#x y&z~$", ["#x y&z~"], ["xyz"]),
}


@pytest.mark.parametrize(("pattern", "fits", "fails"), MATCHES.values(), ids=MATCHES.keys())
def test_a_pattern_means_what_it_means_in_a_browser(
    pattern: str, fits: list[str], fails: list[str]
) -> None:
    """C-39"""
    assert is_usable(pattern)
    assert [occurs(pattern, text) for text in fits] == [True] * len(fits)
    assert [occurs(pattern, text) for text in fails] == [False] * len(fails)


NO_PATTERNS = {
    "an open group": "(",
    "an open set": "[a",
    "nothing to repeat": "*",
    "a possessive quantifier": "a++",
    "a range that runs backwards": "[z-a]",
    "a flag of Python": "(?i)a",
    "a group of Python": "(?P<x>a)",
    "a comment": "(?#a)",
    "an atomic group": "(?>a)",
    "an anchor of Python": r"\Aa\Z",
    "an unknown property": r"\p{Nothing=No}",
    "a lone backslash": "\\",
    "a long one": "a" * 201,
}


@pytest.mark.parametrize("pattern", NO_PATTERNS.values(), ids=NO_PATTERNS.keys())
def test_what_is_no_pattern_refuses_nothing(pattern: str) -> None:
    """C-39"""
    assert not is_usable(pattern)
    assert occurs(pattern, "anything")


def test_a_pattern_without_end_runs_out_of_time() -> None:
    """C-07, C-39"""
    with pytest.raises(PatternTooSlow) as caught:
        occurs("(x+x+)+y", "x" * 5000)

    assert caught.value.pattern == "(x+x+)+y"


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_text_can_be_asked_whether_it_is_a_pattern(pattern: str, text: str) -> None:
    """C-39"""
    with suppress(PatternTooSlow):
        assert is_usable(pattern) or occurs(pattern, text)
        assert occurs(pattern, text) in {True, False}


@given(
    st.text(alphabet="ab-[]^$\\dDwWsS(){}?*+.|,01k<>", max_size=12), st.text("ab1- \n", max_size=8)
)
def test_any_mix_of_pattern_characters_is_run_or_refused(pattern: str, text: str) -> None:
    """C-39"""
    with suppress(PatternTooSlow):
        assert is_usable(pattern) or occurs(pattern, text)
        assert occurs(pattern, text) in {True, False}


@given(st.text(max_size=20))
def test_escaped_text_matches_itself(text: str) -> None:
    escaped = "".join(f"\\u{{{ord(character):x}}}" for character in text)
    if len(escaped) <= 198:
        assert occurs(f"^{escaped}$", text)
