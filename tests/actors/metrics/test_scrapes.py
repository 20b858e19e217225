"""The wait for the last scrapes: as long as they should take, and not at all where nobody scrapes."""

from __future__ import annotations

from threading import Thread

from actors.metrics.endpoint import Scrapes


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def scraped_at(*times: float, ended: float) -> Scrapes:
    clock = Clock()
    scrapes = Scrapes(clock)
    for clock.now in times:
        scrapes.add()
    clock.now = ended
    return scrapes


def test_nobody_waits_for_a_scraper_that_is_gone_or_was_never_there() -> None:
    scraped_at(ended=0.0).wait_for(60.0)
    scraped_at(0.0, 15.0, ended=75.1).wait_for(60.0)


def test_the_wait_ends_with_the_second_scrape_after_the_end() -> None:
    scrapes = scraped_at(0.0, 1000.0, ended=1000.0)
    waiting = Thread(target=scrapes.wait_for, args=(3600.0,), daemon=True)
    waiting.start()
    scrapes.add()
    scrapes.add()
    waiting.join(30.0)
    assert not waiting.is_alive()
