"""The configuration that sends what is scraped to another server."""

from pathlib import Path

import pytest

from deploy.prometheus_process import REMOTE_WRITE, SHIPPED, prometheus
from tests.deploy.tools import eventually, needs, read_yaml


def test_it_is_the_other_configuration_with_an_address_to_send_to_and_a_name_of_its_own() -> None:
    plain, sends = read_yaml(SHIPPED / "prometheus.yml"), read_yaml(SHIPPED / REMOTE_WRITE)
    (remote,) = sends.pop("remote_write")
    assert sends["global"].pop("external_labels").keys() == {"site"}
    assert sends == plain
    (job,) = plain["scrape_configs"]
    assert remote["write_relabel_configs"] == [{"source_labels": ["job"], "regex": job["job_name"], "action": "keep"}]


@pytest.mark.slow
@needs("prometheus")
def test_what_one_prometheus_scrapes_is_found_in_the_other_with_the_name_of_its_site(tmp_path: Path) -> None:
    places = tmp_path / "central", tmp_path / "site"
    for place in places:
        place.mkdir()
    with prometheus(places[0], [], receives=True) as central:
        eventually(central.is_ready, "the receiver")
        target = central.url.removeprefix("http://")  # it has metrics of its own, which do for this
        with prometheus(places[1], [target], quick=True, sends_to=central.url) as site:
            eventually(site.is_ready, "the sender")
            for series in ("up", "prometheus_build_info"):
                found = eventually(lambda name=series: central.query(name), f"{series} in the receiver")  # type: ignore[misc]
                (labels,) = [each.labels for each in found]
                assert labels.items() >= {"job": "prism", "instance": target, "site": "laboratory"}.items()
            assert "site" not in site.query("up")[0].labels
