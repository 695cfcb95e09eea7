"""Nothing that is written holds a secret, in whatever form; all else stays readable."""

import base64
import html
import json
import re
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, strategies as st
from pydantic import JsonValue

from webmcp_agent.scenarios.credentials import is_credential_key, mask_credentials
from webmcp_agent.scenarios.masking import Masker

SECRET = "c0rr3ct/h0rse+&\"'<batté>ry"

KEY = "-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----"
ARGS: JsonValue = {
    "user": "ada",
    "password": "corr3ct-h0rse",
    "apiKey": "zz-UNKNOWNVENDOR-0123456789abcdef",
    "nested": [{"card_number": "4000 0000 0000 0002", "note": "ok"}],
    "max_tokens": 512,
}
RESULT = (
    "Authorization: Bearer abc.def.ghi\n"
    f"url=https://ada:pw@host.invalid/p?token=t0k3n&session=9f8e\n{KEY}"
)
PARTS = [
    "corr3ct-h0rse", "UNKNOWNVENDOR", "0123456789abcdef", "0000 0002", "abc.def.ghi", "ada:pw",
    "t0k3n", "9f8e", "MII",
]  # fmt: skip
"""What must not be left of them."""

FORMS = {
    "plain": SECRET,
    "JSON": json.dumps(SECRET),
    "JSON with all characters": json.dumps(SECRET, ensure_ascii=False),
    "JSON in JSON": json.dumps(json.dumps(SECRET)),
    "JSON with slashes escaped": json.dumps(SECRET).replace("/", "\\/"),
    "a path": quote(SECRET),
    "a query": quote(SECRET, safe=""),
    "a form": quote_plus(SECRET),
    "a query in small letters": re.sub(
        "%..", lambda found: found[0].lower(), quote(SECRET, safe="")
    ),
    "encoded twice": quote(quote(SECRET, safe=""), safe=""),
    "encodeURIComponent": quote(SECRET, safe="!'()*-._~"),
    "HTML": html.escape(SECRET),
    "Python": repr(SECRET),
    "hex": SECRET.encode().hex(),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 for addresses": base64.urlsafe_b64encode(SECRET.encode()).decode(),
    "base64 behind one byte": base64.b64encode(b":" + SECRET.encode() + b"/x").decode(),
    "base64 behind two bytes": base64.b64encode(b"a:" + SECRET.encode() + b"/").decode(),
    "cut": SECRET[:9] + "…",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_a_secret_is_masked_in_every_form_by_its_name(form: str) -> None:
    masked = Masker({"PASS": SECRET}).given(f"it is {form} here")
    assert "{PASS}" in masked
    rest = masked.replace("{PASS}", "")
    inner = form.strip("\"'").removesuffix("…")
    assert not any(inner[at : at + 6] in rest for at in range(2, len(inner) - 8))
    assert masked.startswith("it is ")
    assert masked.endswith(" here")


def test_a_secret_is_masked_in_names_numbers_and_nested_values() -> None:
    masker = Masker({"PIN": "4711"})
    said: JsonValue = {
        "code": 4711,
        "4711": ["is 4711", {"x": "0x4711"}],
        "ms": 4711,
        "tokens": {"prompt": 4711},
        "other": 47110,
    }
    assert masker.value(said) == {
        "code": "{PIN}",
        "{PIN}": ["is {PIN}", {"x": "0x{PIN}"}],
        "ms": 4711,
        "tokens": {"prompt": 4711},
        "other": 47110,
    }


def test_a_short_value_is_masked_only_where_it_stands_alone() -> None:
    masker = Masker({"CVV": "123"}, {"N": "2", "CITY": "Rome", "PIN": "77"})
    assert masker.given("123 of 1234 in Rome, 2 of 77") == "{CVV} of 1234 in {CITY}, 2 of {PIN}"


def test_arguments_and_answers_keep_nothing_that_is_called_or_shaped_like_a_credential() -> None:
    masker = Masker()
    assert masker.value(ARGS) == {
        "user": "ada",
        "password": "***",
        "apiKey": "***",
        "nested": [{"card_number": "***", "note": "ok"}],
        "max_tokens": 512,
    }
    texts = [RESULT, json.dumps(ARGS), json.dumps(RESULT), json.dumps(json.dumps(ARGS))]
    for text in texts:
        masked = masker.text(text)
        assert [part for part in PARTS if part in masked] == []
    plain = masker.text(json.dumps(ARGS))
    assert '"max_tokens": 512' in plain
    assert '"note": "ok"' in plain
    assert json.loads(plain) == masker.value(ARGS)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('log_in(user="ada", password="x y")', 'log_in(user="ada", password="***")'),
        ("log_in(user='ada', password='x')", "log_in(user='ada', password='***')"),
        ("<parameter=password>\nx\n</parameter>", "<parameter=password>***</parameter>"),
        ("My password is hunter2, ok?", "My password is ***, ok?"),
        ("PASSWORD=hunter", "PASSWORD=***"),
        ("key: sk-proj1-abcdefghij0123", "key: ***"),
        ("token ghp_abcdefghij0123456789", "token ***"),
        ("pay with 4111 1111 1111 1111 now", "pay with *** now"),
        ("/cb?code=1&key=abc&x=2", "/cb?code=1&key=***&x=2"),
        ("Cookie: sid=1; a=b\nnext", "Cookie: ***\nnext"),
        ('{"secret": "a\\"b", "c": 1}', '{"secret": "***", "c": 1}'),
        ("aB3dE5gH7jK9mN1pQ3sT5vX7zA9cC1eE", "***"),
    ],
)
def test_a_credential_is_masked_however_it_is_written(text: str, masked: str) -> None:
    assert mask_credentials(text) == masked
    assert mask_credentials(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "log_in(user: string, password: string)",
        '{"properties": {"password": {"type": "string"}}, "required": ["password"]}',
        "The token is invalid.",
        "Reset your password: we will send a mail",
        "max_tokens=512 token_count=3 prompt_tokens: 12",
        "order 1234-5678-9012, 2026-01-20T10:00:00Z, phone +49 30 123456",
        "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "123e4567-e89b-12d3-a456-426614174000",
        "a pinboard for my bearer of news",
        "the keyboard key: A",
        "https://shop.example/p?id=mug&sort=price",
    ],
)
def test_what_is_no_credential_stays_readable(text: str) -> None:
    assert mask_credentials(text) == text


def test_a_schema_keeps_its_shape_under_the_name_of_a_credential() -> None:
    schema: JsonValue = {"password": {"type": "string", "description": "Eight characters"}}
    assert Masker().value(schema) == schema


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("password", True),
        ("newPassword", True),
        ("X-Auth-Token", True),
        ("API_KEY", True),
        ("APIKey", True),
        ("sessionId", True),
        ("max_tokens", False),
        ("token_count", False),
        ("keyboard", False),
        ("session", False),
        ("shipping", False),
    ],
)
def test_a_name_tells_whether_a_credential_stands_under_it(name: str, is_one: bool) -> None:
    assert is_credential_key(name) is is_one


@given(st.text(alphabet='ab"\\:=<>&?@/…{} pasword1-_.\n', max_size=300))
def test_masking_never_fails_and_masks_nothing_twice(text: str) -> None:
    masker = Masker({"S": "pass1"})
    assert "pass1" not in masker.given(text)
    masked = masker.text(text)
    assert masker.given(masked) == masked


@pytest.mark.parametrize("piece", ["a", " ", '"', "\\", "password=", "a:", "<", "…", "4 ", "://"])
def test_long_texts_are_masked_in_time_that_grows_with_them(piece: str) -> None:
    masker = Masker({"S": "pass1"})
    text = piece * (100_000 // len(piece))
    began = time.process_time()
    masker.text(text)
    assert time.process_time() - began < 5
