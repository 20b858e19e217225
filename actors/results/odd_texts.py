"""The words of a model's description that hold for every run of a domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class DomainTexts(NamedTuple):
    """The words that hold for every run of a domain.

    Args:
        purpose, patterns, entities, space, scheduling, chance, initialization: paragraphs.
        variables: `{state variable: meaning}`; `concepts`: `{design concept: text}`; `submodels`: `{name: text}`.
        start_sections: the sections of the configuration that make the start.
    """

    purpose: str
    patterns: str
    entities: str
    variables: Mapping[str, str]
    space: str
    scheduling: str
    concepts: Mapping[str, str]
    chance: str
    initialization: str
    start_sections: tuple[str, ...]
    submodels: Mapping[str, str]


SOCIAL: Final = DomainTexts(
    purpose=(
        "The model shows how people who read a feed spread posts: who is shown what, who reacts, and what cascades "
        "come of it. It is made for comparing feeds, people and interventions under equal random draws, not for "
        "forecasts of a real network."
    ),
    patterns=(
        "The model is judged by patterns of real feeds: sizes, depths, breadths and structural virality of cascades "
        "at equal sizes, the share of posts that nobody answers, engagement per post seen, the concentration of "
        "posts on few people, and activity by hour of the day. `prism validate-world` measures each; misses are told "
        "like hits."
    ),
    entities="The entities are people, their posts, and the follow graph. All people share one chart.",
    variables={
        "state": "where a person is in the chart, and since when",
        "interests": "topics that a person cares about",
        "activity": "probability of coming online in a round",
        "thresholds": "relevance below which a person passes over a post, and above which a person reacts",
        "traits": "openness, conscientiousness, extraversion, agreeableness and neuroticism, -1 to 1",
        "session": "the feed of the present visit, and the post in view",
        "post": "author, topics, tick, parent, root, depth, likes, replies, reshares, and a quality",
        "follow graph": "who follows whom; it changes by interventions only",
    },
    space="There is no space but the follow graph: a person is near those whom the person follows.",
    scheduling=(
        "In a round some people come online, each with the probability of their activity. Each gets a feed, sees its "
        "posts one by one, passes over a post or looks closely, and then scrolls on, likes, replies, reshares or "
        "writes. Posts made in a tick can be shown from the next tick on. At the end of the round whoever is still "
        "online leaves."
    ),
    concepts={
        "Basic principles": (
            "Attention is scarce, and engagement depends on relevance: topic, tie, popularity and taste. Clear cases "
            "follow rules; only choices that are close to a person's threshold are treated as choices, and put to an "
            "oracle."
        ),
        "Emergence": (
            "Cascades, their sizes and shapes, the concentration of attention and the share of time in each state "
            "emerge from single decisions and the feed. Activity, interests and the follow graph are given."
        ),
        "Objectives": "People maximise nothing. A person reacts to a post if its relevance exceeds the own threshold.",
        "Learning": "Nobody learns: interests, traits and thresholds stay as they are for the whole run.",
        "Prediction": "Nobody predicts. People react to what is in view.",
        "Sensing": (
            "A person sees the posts of the own feed, with author, text, topics, age, likes, replies and reshares, "
            "and knows whom he or she follows. Nobody knows the states or thresholds of others."
        ),
        "Interaction": (
            "People interact through posts alone: a reaction changes the counts of a post and so its place in feeds, "
            "and a reshare brings it to the followers of whoever reshares it."
        ),
        "Collectives": "There are none but cascades, which are counted and do nothing themselves.",
    },
    chance=(
        "Drawn are personas and the generated follow graph, who comes online and when, topics and original posts, "
        "tastes for posts, which posts of people that one does not follow a feed has, whether a post is looked at "
        "closely, and the embedded oracle's choices."
    ),
    initialization=(
        "The people and the follow graph are made before the first tick from the seed or from files. There are no "
        "posts before the first tick, so the first rounds are shorter of posts than later ones."
    ),
    start_sections=("population.graph", "population.activity"),
    submodels={
        "Relevance": (
            "A weighted sum of topic match, tie, popularity and taste, times the quality of the post: "
            "docs/calibration.md has the formula of each term and its source."
        ),
        "Feed": "Posts of followed people and of others are scored and mixed: docs/feeds.md.",
        "Choice": (
            "The embedded oracle is a multinomial logit over the options of a choice; a model is asked with the "
            "post, the person and the options: docs/oracle.md."
        ),
        "Posting": "A person who is online writes an original with a probability that may grow with the followers.",
    },
)

ECONOMY: Final = DomainTexts(
    purpose=(
        "The model shows how nations that share one interest rate set it by proposals, and how the economy answers. "
        "It is made for comparing rules, preferences and advisers under equal shocks."
    ),
    patterns=(
        "The model is judged by moments of quarterly figures: means, standard deviations and autocorrelations of the "
        "rate, inflation, growth and unemployment, Okun's law, and how the rate goes with inflation. `prism "
        "validate-world` compares them with history."
    ),
    entities="The entities are nations, a validator of proposals, an engine that applies them, and the common economy.",
    variables={
        "state": "the stage of a nation's proposal in the quarter",
        "strength": "a nation's weight in the common rate",
        "preference": "how much a nation minds inflation, and how much unemployment",
        "economy": "interest rate, inflation over the year, growth at an annual rate, unemployment, total value",
    },
    space="There is no space; all nations see the same indicators.",
    scheduling=(
        "In a quarter each nation proposes a change of the rate, the validator accepts or rejects it, and accepted "
        "proposals are applied, weighted by strength. Then the economy answers to the new rate. All of it is one tick."
    ),
    concepts={
        "Basic principles": (
            "A policy rule after Taylor (1993) with smoothing, and a backward-looking economy of demand, inflation and "
            "unemployment after Rudebusch & Svensson (1999) and Okun's law."
        ),
        "Emergence": "The paths of the rate, inflation, growth and unemployment come of proposals, lags and shocks.",
        "Objectives": "A nation wants inflation at its target and output at its potential, by weights of its own.",
        "Learning": "Nations do not learn: preferences and rules stay as they are.",
        "Prediction": (
            "The embedded adviser looks at present indicators. Expected inflation is anchored in part at "
            "economy.macro.anchor."
        ),
        "Sensing": "Every nation sees all indicators of the last quarter, without noise, and its own proposals.",
        "Interaction": "Nations interact through the common rate alone.",
        "Collectives": "The nations are a council: each one's proposal counts by its strength.",
    },
    chance="Drawn are the nations' preferences and the shocks to demand, inflation and unemployment.",
    initialization="The economy begins with the indicators of a real quarter, or with those that are configured.",
    start_sections=("economy.initial",),
    submodels={
        "Policy rule": "The rate that follows from inflation and the output gap, smoothed: docs/economy.md.",
        "Economy": "Three equations with lags, one quarter a step: docs/economy.md has them with their estimates.",
        "Validator": "It rejects proposals that are no change of the rate, or outside of its bounds.",
    },
)
