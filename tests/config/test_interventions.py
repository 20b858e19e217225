"""The list of interventions: what is taken, what is refused, and the place that a refusal names."""

import pickle
from typing import Any

import msgspec
import pytest
import yaml

from prism.checked import field_types
from prism.config import Config, InterventionConfig, PublishConfig, load_config
from prism.config.interventions import CHANGEABLE, KINDS, planned
from prism.config.load import load_interventions
from prism.errors import ConfigError, SettingError
from tests.catalogue import catalogue
from tests.config.refusals import refusal

STUDY = """\
simulation: {rounds: 9}
interventions:
  - {round: 5, publish: {author: 17, text: "Breaking: a bridge", topics: [politics], quality: 0.9}}
  - tick: 120
    set:
      feed.algorithm: chronological
      population.posts_per_session: 1
  - {round: 6, follow: [[3, 17], [4, Ada]]}
  - {round: 6, unfollow: [[3, 17]]}
  - {round: 7, silence: [17, Ada], until_round: 8}
"""
KEYS = ", ".join(field_types(InterventionConfig))
ONE = f"expected exactly one of {', '.join(KINDS)}"
WHEN = "expected exactly one of round and tick"
CANNOT = f"cannot change while a run goes on: expected one of {', '.join(CHANGEABLE['social'])}"
END = "expected an intervention before the end of the run, at tick 1,200, got round 51, which begins at"

HOSTILE: list[tuple[str, str]] = [
    ("3", ": expected list of {round, tick, publish, set, ...}, got 3"),
    ("[{}]", f"[0]: {WHEN}, got none"),
    ("[{round: 2, tick: 30, silence: [1]}]", f"[0].tick: {WHEN}, got both"),
    ("[{tick: 3}]", f"[0]: {ONE}, got none"),
    ("[{tick: 3, silence: [1], follow: [[1, 2]]}]", f"[0].silence: {ONE}, got follow, silence"),
    ('[{"a\\nb": 3}]', f"[0].a\\nb: unknown key; expected one of {KEYS}"),
    # Posts
    (
        "[{tick: 3, publish: {text: hello}}]",
        "[0].publish.author: is missing; expected int 0 to 9999999 or non-empty text",
    ),
    ("[{tick: 3, publish: {author: 1}}]", "[0].publish.text: expected either text or post, got none"),
    ('[{tick: 3, publish: {author: 1, text: " \\t"}}]', "[0].publish.text: expected a text that is not blank"),
    # Settings
    ("[{tick: 3, set: {population.size: 3}}]", f"[0].set.population.size: {CANNOT}"),
    ("[{tick: 3, set: {feed.size: 0}}]", "[0].set.feed.size: expected int 1 to 1000, got 0"),
    ("[{tick: 3, set: {feed.algorithm: newest}}]", "[0].set.feed.algorithm: expected one of: chronological"),
    # Ties, silence and shocks
    (
        "[{tick: 3, follow: [[1, 2], [3, 4, 5]]}]",
        "[0].follow[1]: expected two different people, [follower, followee], got [3, 4, 5]",
    ),
    (
        "[{tick: 3, follow: [[1, 2], [3, 2000]]}]",
        "[0].follow[1][1]: expected the number of one of 2,000 people, 0 to 1999, got 2000",
    ),
    ("[{tick: 3, silence: []}]", "[0].silence: expected at least one entry, got []"),
    ("[{round: 3, follow: [[1, 2]], until_round: 4}]", "[0].until_round: belongs to silence: expected none without it"),
    ("[{round: 3, silence: [1], until_round: 3}]", "[0].until_round: expected a round after 3, got 3"),
    (
        "[{tick: 30, silence: [1], until_round: 2}]",
        "[0].until_round: expected a round that begins after tick 30, got round 2",
    ),
    (
        "[{tick: 3, shock: {inflation: 1.0}}]",
        "[0].shock: the social domain has no shock: expected one of publish, set, follow, unfollow, silence",
    ),
    ("[{tick: 3, shock: {inflatoin: 1.0}}]", "[0].shock.inflatoin: expected one of the indicators: interest_rate"),
    ("[{round: 51, silence: [1]}]", f"[0].round: {END}"),
]


def made(**settings: Any) -> Config:
    """Return a configuration of settings as a file gives them."""
    return Config(**settings)


@catalogue(("text", "message"), HOSTILE)
def test_what_is_no_list_of_interventions_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        made(interventions=yaml.safe_load(text))
    assert str(caught.value).startswith(f"Config: interventions{message}")
    assert refusal(f"simulation: {{seed: 3}}\ninterventions: {text}").startswith("c.yaml:2: interventions")


def test_a_list_is_read_with_what_each_entry_says() -> None:
    config = load_config(STUDY)
    post, settings, follow, unfollow, silence = config.interventions
    assert post.publish == PublishConfig(author=17, text="Breaking: a bridge", topics=("politics",), quality=0.9)
    assert settings.set == {"feed.algorithm": "chronological", "population.posts_per_session": 1.0}
    assert type(settings.set["population.posts_per_session"]) is float
    assert (follow.follow, unfollow.unfollow) == (((3, 17), (4, "Ada")), ((3, 17),))
    assert (silence.silence, silence.until_round) == ((17, "Ada"), 8)
    assert [(tick, each.kind) for tick, each in planned(config.interventions, 24)] == [
        (96, "publish"),
        (120, "set"),
        (120, "follow"),
        (120, "unfollow"),
        (144, "silence"),
    ]
    assert load_config(yaml.safe_dump(msgspec.json.decode(msgspec.json.encode(config)))) == config
    assert pickle.loads(pickle.dumps(config)) == msgspec.structs.replace(config) == config


def test_an_economy_has_its_own_kinds_and_settings() -> None:
    economy = {"simulation": {"domain": "economy"}}
    shock = {"tick": 3, "shock": {"inflation": 2, "gdp_growth": -1.0}}
    (held,) = made(**economy, interventions=[shock]).interventions
    assert held.shock == {"inflation": 2.0, "gdp_growth": -1.0}
    with pytest.raises(SettingError, match=r"interventions\[0\]\.follow: the economy domain has no follow: expected"):
        made(**economy, interventions=[{"tick": 3, "follow": [[1, 2]]}])
    with pytest.raises(SettingError, match=r"set\.feed\.size: cannot change .* one of economy\.macro\.neutral_rate"):
        made(**economy, interventions=[{"tick": 3, "set": {"feed.size": 3}}])


def test_a_domain_of_its_own_takes_every_kind_and_only_its_own_settings() -> None:
    own = {"simulation": {"domain": "junction:junction"}}
    assert made(**own, interventions=[{"tick": 3, "shock": {"inflation": 1.0}}]).interventions
    assert made(**own, interventions=[{"tick": 3, "set": {"domain.green": 3}}]).interventions
    with pytest.raises(SettingError, match=r"set\.feed\.size: expected a setting of the run's own domain"):
        made(**own, interventions=[{"tick": 3, "set": {"feed.size": 3}}])


def test_a_later_source_replaces_the_whole_list() -> None:
    override = "interventions=[{tick: 3, silence: [1]}]"
    assert len(load_config(STUDY, overrides=[override]).interventions) == 1
    assert refusal(STUDY, None, "interventions=[{tick: 3}]").startswith(f"--set: interventions[0]: {ONE}")
    assert refusal(None, {"PRISM_INTERVENTIONS": "3"}).startswith("PRISM_INTERVENTIONS: interventions: expected list")


def test_a_file_of_further_interventions_is_a_list_or_has_one() -> None:
    config = load_config(STUDY)
    for text in ("- {tick: 30, silence: [1]}\n", "interventions:\n- {tick: 30, silence: [1]}\n"):
        more = load_interventions(config, text, "more.yaml", 30).interventions
        assert more == (*config.interventions, InterventionConfig(tick=30, silence=(1,)))


@catalogue(
    ("text", "message"),
    [
        ("", "more.yaml:1: expected a list, or a mapping with the key interventions alone, got null"),
        ("- {tick: 29, silence: [1]}", "more.yaml:1: interventions[0].tick: expected tick 30 or later"),
        ("- tick: 30\n  silence: [-1]", "more.yaml:2: interventions[0].silence[0]: expected int"),
        ("- {tick: 30, shock: {inflation: 1}}", "more.yaml:1: interventions[0].shock: the social domain has no shock"),
    ],
)
def test_a_file_that_is_no_list_of_later_interventions_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_interventions(load_config(STUDY), text, "more.yaml", 30)
    assert str(caught.value).startswith(message)


def test_the_ninth_post_of_an_author_in_a_tick_is_refused() -> None:
    posts = [{"tick": 24, "publish": {"author": 3, "text": f"post {number}"}} for number in range(9)]
    assert len(made(interventions=posts[:8]).interventions) == 8
    assert len(made(interventions=[*posts[:8], {**posts[8], "tick": 25}]).interventions) == 9
    with pytest.raises(
        ConfigError, match=r"interventions\[8\]\.publish\.author.*at most 8 posts of an author in a tick"
    ):
        made(interventions=posts)
