"""An explanation on a page: it says what its lines on a terminal say, and no text in it becomes markup."""

from actors.explain.tree import COLUMNS, Node
from actors.pages.html import rendered
from actors.view.explainer import explanation
from prism.quoting import visible
from tests.actors.pages.test_html import Page
from tests.catalogue import catalogue
from tests.hostile_texts import TEXTS

ROW = Node(
    kind="row",
    text="yes   idle --feed_ready--> scrolling  <- taken",
    value={"name": "idle --feed_ready--> scrolling", "target": "scrolling", "outcome": "true", "is_taken": True},
    children=(Node(kind="if", text="a > 1"),),
)
TREE = Node(
    kind="agent",
    text="Ana (7)",
    children=(
        Node(kind=COLUMNS, cells=("tick", "by")),
        Node(kind="turn", cells=("3", "rule")),
        Node(
            kind="turn",
            text="tick 3: decides",
            children=(
                Node(kind="context", value={"id": 12, "topics": ["art", False]}),
                ROW,
                Node(kind="text", text="Hello\nthere", value={"name": "user"}),
                Node(kind="embedded", text="liking 0.250", value={"probabilities": {"liking": 0.25}}),
            ),
        ),
    ),
)


def test_a_page_has_the_rules_of_a_turn_in_words_and_its_values_without_brackets() -> None:
    said = rendered(explanation(TREE)).replace("\n", "")
    assert '<dt>what it saw</dt><dd><dl class="facts"><div><dt>topics</dt><dd>art, no</dd></div></dl>' in said
    assert "<strong><span>yes idle → feed_ready → scrolling &lt;- taken</span></strong>" in said
    assert "--" not in said
    assert "liking 0.250" in said
    assert {"table", "pre", "code", "dl", "h3"} <= {*Page(said).elements}


@catalogue("text", TEXTS.values())
def test_no_text_becomes_markup(text: str) -> None:
    said = Node(kind="text", text=text, value={"name": text})
    fact = Node(kind=text, text=text, value={"probabilities": {text: 0.5}}, children=(Node(kind="if", text=text),))
    tree = Node(kind="agent", text=text, children=(said, fact, Node(kind=COLUMNS, cells=(text,))))
    seen = Page(rendered(explanation(tree)))
    plain = Page(rendered(explanation(TREE)))
    assert {*seen.elements} <= {*plain.elements, "ul", "li", "h4"}
    assert visible(text).strip("\n") in seen.text
