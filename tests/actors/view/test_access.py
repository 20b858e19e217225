"""Who may ask for the local page, and what its answers and its sources allow."""

import re
import signal
import subprocess
import sys
from pathlib import Path

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from actors.view.app import STATIC
from actors.view.server import Guard
from tests.actors.view.asking import Asked, get
from tests.catalogue import catalogue
from tests.patience import HANG_S

TOKEN = "a-token-of-this-test"
SOURCES = sorted(Path(str(STATIC)).iterdir())


def guard(host: str = "127.0.0.1", token: str = "") -> Guard:
    async def answer(_: object) -> PlainTextResponse:
        return PlainTextResponse("inside")

    return Guard(Starlette(routes=[Route("/", answer)]), host=host, port=8480, token=token)


@catalogue(
    ("name", "status"),
    [
        *((name, 200) for name in ("127.0.0.1:8480", "[::1]:8480", "LOCALHOST")),
        *((name, 421) for name in ("example.org:8480", "localhost.example.org", "127.0.0.1.example.org", "10.0.0.7")),
    ],
)
def test_this_machine_may_ask_and_a_name_that_leads_here_from_elsewhere_is_refused(name: str, status: int) -> None:
    assert get(guard(), "/", host=name).status_code == status


@catalogue("method", ["POST", "OPTIONS"])
def test_nothing_can_be_changed(method: str) -> None:
    assert get(guard(), "/", method).status_code == 405


def test_every_answer_says_what_a_browser_may_do(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    files = (f"/static/{name}" for name in ("main.js", "page.css", "vega.js", "../app.py"))
    for path in ("/", "/part/runs", "/api/runs/none", "/nowhere", *files):
        headers = asked.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")


def test_an_address_that_others_reach_asks_for_its_token() -> None:
    guarded = guard("0.0.0.0", TOKEN)
    assert get(guarded, "/", host="10.0.0.7:8480").status_code == 401
    assert get(guarded, "/?token=another", host="10.0.0.7:8480").status_code == 401
    shown = get(guarded, f"/?token={TOKEN}", host="10.0.0.7:8480")
    assert (shown.status_code, shown.headers["location"]) == (303, "/")
    cookie = shown.headers["set-cookie"]
    assert "httponly" in cookie.lower()
    assert "samesite=strict" in cookie.lower()
    assert get(guarded, "/", host="10.0.0.7:8480", cookie=cookie.split(";")[0]).text == "inside"
    assert get(guarded, "/", host="10.0.0.7:8480", cookie="prism-view-8480=another").status_code == 401
    assert get(guarded, "/", host="example.org", cookie=cookie.split(";")[0]).status_code == 421


@catalogue("site", ["cross-site", "same-site"])
def test_the_page_of_another_site_may_link_here_and_ask_for_nothing(tmp_path: Path, site: str) -> None:
    asked = Asked(tmp_path)
    for path, status in (("/", 200), ("/part/runs", 403), ("/static/main.js", 403)):
        assert get(asked.guard, path, **{"sec-fetch-site": site}).status_code == status
        assert get(asked.guard, path, **{"sec-fetch-site": "same-origin"}).status_code == 200


def test_the_page_needs_no_package_for_charts_before_there_are_any() -> None:
    told = "import sys, actors.view.app; print({'altair', 'vl_convert', 'scipy'} & {*sys.modules})"
    ended = subprocess.run((sys.executable, "-c", told), capture_output=True, text=True, check=False)
    assert ended.stdout == "set()\n", ended.stderr


def test_vega_comes_from_this_machine_and_needs_no_code_from_texts(tmp_path: Path) -> None:
    script = Asked(tmp_path).get("/static/vega.js").text
    assert "vegaEmbed" in script
    assert "ast: true" in (Path(str(STATIC)) / "page.js").read_text()


FORBIDDEN = re.compile(
    r"outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc"
    r"|\beval\b|new Function|setTimeout\(\s*[\"'`]|javascript:|https?://(?!www\.w3\.org/2000/svg)"
)


@catalogue("source", SOURCES)
def test_no_source_makes_markup_or_code_of_a_text_or_asks_elsewhere(source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    assert FORBIDDEN.findall(text) == []
    assert text.count("innerHTML") == (source.name == "page.js"), "parts of the page, which the server has escaped"


def test_a_signal_that_another_thread_was_woken_for_ends_the_page(tmp_path: Path) -> None:
    told = (
        "import signal, sys, threading; from pathlib import Path\n"
        "from actors.view.app import Site; from actors.view.server import serve\n"
        "def late():\n"
        "    threading.Event().wait(0.1)  # by then the first thread waits\n"
        "    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)\n"
        "serve(Site(Path(sys.argv[1])), '127.0.0.1', 0, '', lambda _: threading.Thread(target=late).start())\n"
    )
    ended = subprocess.run((sys.executable, "-c", told, str(tmp_path)), timeout=HANG_S, check=False)
    assert ended.returncode == -signal.SIGTERM
