"""The page of an audit."""

import re
from pathlib import Path

from msgspec.structs import replace

from actors.pages.counterfactuals import audit_section
from actors.pages.html import rendered
from actors.studies.audit.record import keep_audit
from prism.audit.words import paragraph_of
from tests.audit.audits import with_each_verdict


def test_the_verdict_on_each_claim_stands_in_its_row(tmp_path: Path) -> None:
    found = with_each_verdict()
    found = replace(found, paragraph=paragraph_of(found))
    keep_audit(tmp_path, found)
    section = audit_section(tmp_path)
    assert section is not None
    page = "".join(map(rendered, section.parts))
    assert found.paragraph in page
    rows = [re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", row) for row in page.split("<tr")]
    verdicts = {row[0]: row[-1] for row in rows if row and row[0].startswith("claim ")}
    expected = ["survives", "weakens", "turns", "cannot tell", "cannot tell"]
    assert verdicts == {f"claim {number}": each for number, each in enumerate(expected, start=1)}
