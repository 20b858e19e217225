"""The wait for the last scrapes: as long as they should take, and not at all where nobody scrapes."""

from __future__ import annotations

from threading import Thread

from actors.metrics.scrapes import Scrapes


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


def test_a_scraper_that_has_scraped_once_is_waited_for_because_its_interval_is_not_known() -> None:
    assert scraped_at(0.0, ended=0.5).patience_s(60.0) == 60.0
    assert scraped_at(0.0, ended=60.5).patience_s(60.0) == 0.0


def test_a_scraper_that_has_missed_two_scrapes_is_gone() -> None:
    assert scraped_at(0.0, 15.0, ended=53.0).patience_s(60.0) > 0.0
    assert scraped_at(0.0, 15.0, ended=54.6).patience_s(60.0) == 0.0
    assert scraped_at(*(index / 1000.0 for index in range(1000)), ended=3.8).patience_s(60.0) == 0.0


def test_the_wait_ends_with_the_second_scrape_after_the_end() -> None:
    scrapes = scraped_at(0.0, 1000.0, ended=1000.0)
    waiting = Thread(target=scrapes.wait_for, args=(3600.0,), daemon=True)
    waiting.start()
    scrapes.add()
    scrapes.add()
    waiting.join(30.0)
    assert not waiting.is_alive()
