import pytest
from hypothesis import given, strategies as st

from webmcp_agent.agent.words import sentences, spaced, stem, terms, words


@pytest.mark.parametrize(
    ("forms", "same"),
    [
        ("categories category", "category"),
        ("purchases purchased purchasing purchase", "purchas"),
        ("notes note", "not"),
        ("addresses address", "address"),
        ("boxes box", "box"),
        ("bookings booking booked books book", "book"),
        ("orders ordered ordering order", "order"),
    ],
)
def test_the_forms_of_a_word_share_a_stem(forms: str, same: str) -> None:
    assert {stem(form) for form in forms.split()} == {same}


@pytest.mark.parametrize("word", ["bus", "use", "red", "sing", "dies", "dé", "sécurités", "", "7"])
def test_a_stem_keeps_three_letters_and_leaves_other_languages_alone(word: str) -> None:
    assert stem(word) in {word, "die"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("getStoreHours", ["get", "store", "hours"]),
        ("open_page2.write-review", ["open", "page2", "write", "review"]),
        ("parseURLPath PDFs", ["parse", "url", "path", "pdfs"]),
        ("The page’s mugs don't ‘fit’", ["the", "page", "mugs", "do", "fit"]),
        ("Ｆｕｌｌ ﬁt: Straße №5", ["full", "fit", "strasse", "no5"]),
        ("Reservé\u0301 café", ["reservé\u0301", "café"]),
        ("पानी दो", ["पानी", "दो"]),
        ("青いマグ", ["青い", "いマ", "マグ"]),
        ("長靴下abc猫", ["長靴", "靴下", "abc", "猫"]),
        ("머그잔 둘", ["머그", "그잔", "둘"]),
        ("☕\ufe0f — ", []),
    ],
)
def test_words_are_whole_and_folded(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_terms_leave_out_words_that_say_nothing() -> None:
    assert terms("What is the name of my two blue mugs?") == ["nam", "blu", "mug"]


def test_an_identifier_is_read_in_words() -> None:
    assert spaced("getStore_hours.v2-beta") == "get Store hours v2 beta"


def test_sentences_end_at_a_mark_before_a_blank_or_at_a_line_break() -> None:
    text = '- **Done!** Row 3.5 is  wet: I\u2019m "sure".\n\n1. Use row_3?\r\n***\nBye'
    assert sentences(text) == [
        "Done!",
        "Row 3.5 is wet:",
        "I'm sure.",
        "1.",
        "Use row_3?",
        "Bye",
    ]


@given(st.text())
def test_every_text_has_words_and_sentences(text: str) -> None:
    assert all(words(text))
    assert all(terms(text))
    assert all(said == " ".join(said.split()) != "" for said in sentences(text))
    assert all(len(stem(word)) >= min(len(word), 3) for word in words(text))
