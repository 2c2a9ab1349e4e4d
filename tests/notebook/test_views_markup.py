"""The parts of a page: everything said by somebody else is shown, and nothing of it is run."""

from __future__ import annotations

import base64
import json
from html.parser import HTMLParser

import pytest

from toolnexus_nb.notebook import markup
from toolnexus_nb.notebook.stylesheet import style_for, styled, stylesheet
from toolnexus_nb.notebook.value_markup import markdown_html, picture_html, safe_html, value_html, value_text

HOSTILE = [
    "<script>window.HIT = 1</script>",
    "<img src=x onerror='window.HIT = 1'>",
    '"><svg onload="window.HIT=1">',
    "javascript:window.HIT=1",
    "</pre></details><iframe srcdoc='<script>parent.HIT=1</script>'>",
    "`${window.HIT = 1}`",
]


class Reader(HTMLParser):
    """What a browser would make of it: tags, and attributes that could run something."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.dangers: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(name)
        for key, value in attrs:
            if key.startswith("on") or key in ("srcdoc", "formaction"):
                self.dangers.append(f"{name} {key}")
            if key in ("href", "src") and not (value or "").startswith(("https:", "http:", "mailto:", "data:image/")):
                self.dangers.append(f"{name} {key}={value}")

    def handle_data(self, data: str) -> None:
        self.text += data


def harmless(html: str) -> bool:
    reader = Reader(html)
    return not reader.dangers and not {"script", "svg", "iframe", "object", "style"} & set(reader.tags)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "part",
    [
        markup.esc,
        markup.code,
        markup.hint,
        markup.pre,
        lambda text: markup.long_text(text * 400),
        lambda text: markup.json_block({text: [text, {text: text}]}),
        lambda text: markup.definition_list({text: text * 200}, {"properties": {text + "x": {"default": text}}}),
        lambda text: markup.section(text, markup.head(markup.esc(text)), markup.foot(markup.esc(text))),
        lambda text: markup.tag("span", "x", title=text, data_find=text),
        lambda text: value_html(text),
        lambda text: value_html({text: text}),
        markdown_html,
        safe_html,
    ],
)
def test_hostile_text_becomes_text(part: object, text: str) -> None:
    assert harmless(part(text))  # type: ignore[operator]


@pytest.mark.parametrize("text", HOSTILE)
def test_an_objects_own_display_is_made_harmless(text: str) -> None:
    class Rich:
        def _repr_html_(self) -> str:
            return f"<table><tr><td onclick='x()'>{text}</td></tr></table><a href='{text}'>l</a>"

    html = value_html(Rich())
    assert harmless(html)
    assert "<table>" in html


def test_what_an_allowed_page_keeps() -> None:
    html = safe_html('<p>a <b>b</b> <a href="https://e.org">c</a> <s class="x" style="color:red">d</s>')
    assert html == (
        '<p>a <b>b</b> <a href="https://e.org" rel="noopener noreferrer nofollow" target="_blank">c</a> <s>d</s></p>'
    )


def test_script_and_style_text_is_dropped_but_other_text_stays() -> None:
    assert safe_html("<style>p{}</style><script>boo</script><blink>seen</blink>") == "seen"


def test_an_unclosed_tag_of_theirs_closes_no_tag_of_ours() -> None:
    assert safe_html("</div></section><div><p>x") == "<div><p>x</p></div>"


def test_no_address_is_fetched_because_a_model_named_it() -> None:
    assert "<img" not in markdown_html("![see](https://evil.example/beacon.png)")
    assert "<img" not in safe_html('<img src="https://evil.example/beacon.png" alt="see">')


def test_an_svg_is_an_image_of_data() -> None:
    html = picture_html("image/svg+xml", "<svg onload='x()'/>")
    assert html.startswith("<img") and "data:image/svg+xml;base64," in html and harmless(html)


def test_a_picture_too_large_for_a_notebook_is_named_instead() -> None:
    assert "too large" in picture_html("image/png", b"x" * 4_000_000)


def test_a_picture_of_bytes_is_that_picture() -> None:
    assert base64.b64encode(b"abc").decode() in picture_html("image/png", b"abc")


def test_markdown_is_rendered_and_its_html_is_shown() -> None:
    html = markdown_html("**bold** <b onclick=x>no</b>\n\n| a |\n|---|\n| 1 |")
    assert "<strong>bold</strong>" in html and "&lt;b onclick=x&gt;" in html and "<table>" in html


def test_what_can_not_be_shown_is_made_visible() -> None:
    assert markup.esc("a\x00b\u202ec\ud800") == "a\\u0000b\\u202ec\\ud800"
    assert markup.esc("tab\tline\nכן") == "tab\tline\nכן"


def test_json_is_what_is_copied() -> None:
    html = markup.json_block({"a": ['he said ": "', 1.5, None], "ключ": "<b>"})
    assert json.loads(Reader(html).text) == {"a": ['he said ": "', 1.5, None], "ключ": "<b>"}


@pytest.mark.parametrize(
    "value",
    [
        {"a": ["x", "y"], "b": [1, [2, 3], {"c": []}], "d": ["[\n 1,\n 2]", "a,\n b"]},
        [["long " * 30, "list"], ["[", "]", "{", "}", ",", '"']],
        [],
        {"": [None, True, 1e9]},
    ],
)
def test_short_lists_stand_on_one_line_and_json_stays_the_same(value: object) -> None:
    assert json.loads(markup.readable_json(value)) == value
    assert '["x", "y"]' in markup.readable_json({"a": ["x", "y"]})


def test_json_text_survives_what_has_no_json_form() -> None:
    circular: list[object] = []
    circular.append(circular)
    assert "[...]" in markup.json_text(circular)
    assert "1j" in markup.json_text({"a": 1j})


def test_long_text_is_folded_and_very_long_text_is_cut() -> None:
    assert "<details" not in markup.long_text("short")
    folded = markup.long_text("line\n" * 1000)
    assert "<details" in folded and "more characters" in folded
    assert len(markup.long_text("x" * 10_000_000)) < 40_000


def test_shortening_says_how_much_is_missing() -> None:
    short = markup.shortened("a" * 500 + "z" * 500, 100)
    assert "900 characters left out" in short and short.startswith("a") and short.endswith("z")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0004, "under 1 ms"),
        (0.02, "20 ms"),
        (0.31, "0.31 s"),
        (1.44, "1.4 s"),
        (23.4, "23 s"),
        (125.2, "2 min 05 s"),
        (None, ""),
    ],
)
def test_durations_read_easily(seconds: float | None, words: str) -> None:
    assert markup.duration(seconds) == words


def test_counts_read_easily() -> None:
    assert markup.tokens(1024, True) == "about 1,024 tokens"
    assert markup.tokens(1) == "1 token"
    assert markup.counted(2, "reply", "replies") == "2 replies"
    assert [markup.size(n) for n in (12, 4200, 2_500_000)] == ["12 B", "4.2 kB", "2.5 MB"]


def test_arguments_show_the_defaults_that_apply() -> None:
    schema = {"properties": {"city": {}, "unit": {"default": "C"}}}
    assert markup.definition_text({"city": "Oslo"}, schema) == 'city="Oslo", unit="C" (default)'
    assert "default" in markup.definition_list({"city": "Oslo"}, schema)
    assert "no arguments" in markup.definition_list({})


def test_values_read_as_a_person_would_write_them() -> None:
    assert value_text("plain") == "plain"
    assert value_text({"a": 1}) == '{"a": 1}'
    assert "3" in value_html(3)


def test_an_object_whose_displays_fail_is_still_named() -> None:
    class Broken:
        def _repr_html_(self) -> str:
            raise RuntimeError("no display")

        def __repr__(self) -> str:
            raise RuntimeError("no repr")

    html = value_html(Broken())
    assert "Broken" in html and "no display" in html


def test_a_static_output_carries_only_the_rules_it_uses() -> None:
    html = markup.section("x", markup.head("t"))
    rules = style_for(html)
    assert ".tnx-head" in rules and ".tnx-tabs" not in rules
    assert len(rules) < len(stylesheet()) / 2
    assert rules.count("{") == rules.count("}")


def test_page_colours_are_read_in_one_place() -> None:
    assert "var(--" not in markup.section("x", markup.head("t"), markup.pre("p"), markup.table(("a",), [("b",)]))


def test_the_rules_of_one_output_leave_the_next_one_alone() -> None:
    one, other = styled(markup.section("a")), styled(markup.section("b"))
    names = [html.split("{", 1)[0] for html in (one, other)]
    assert names[0] != names[1] and all(name.startswith("<style>.tnx-") for name in names)
    assert styled(markup.section("a")) == one
