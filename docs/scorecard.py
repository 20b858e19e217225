"""The numbers of `prism validate-world RUN... --against CASCADES`, from exported tables, without PRISM.

prism export RUN... --to csv --out TABLES --tables runs,agents,posts,rounds
python docs/scorecard.py TABLES CASCADES
"""

import json
import sys

import numpy as np
import pandas as pd
from scipy.stats import poisson

runs, agents, posts, rounds = (
    pd.read_csv(f"{sys.argv[1]}/{name}.csv") for name in ("runs", "agents", "posts", "rounds")
)
real = pd.read_csv(sys.argv[2]).rename(columns={"delay_minutes": "minutes"})


def shape(tree):
    """Return the size, depth, breadth share, structural virality and minutes to half of a cascade."""
    size, places = len(tree), {node: place for place, node in enumerate(tree.node)}
    parents, depths, below = [places.get(each, -1) for each in tree.parent], [0] * size, [1] * size
    for place in range(1, size):
        depths[place] = depths[parents[place]] + 1
    for place in range(size - 1, 0, -1):
        below[parents[place]] += below[place]
    steps = sum(each * (size - each) for each in below[1:])  # the pairs of posts on the two sides of each tie
    half = sorted(tree.minutes)[(size - 1) // 2]
    return size, max(depths), max(np.bincount(depths)) / size, 2 * steps / max(size * (size - 1), 1), half


def ranks(values, weights):
    """Return the mean rank of each value among weighted ones."""
    return np.array([weights[values < each].sum() + weights[values == each].sum() / 2 for each in values])


def median(values, weights):
    """Return the value at which half of the weight is reached."""
    order = np.argsort(values, kind="stable")
    return values[order][np.searchsorted(weights[order].cumsum(), weights.sum() / 2 - 1e-9)]


runs["horizon"] = [json.loads(each)["feed"]["horizon_rounds"] for each in runs.config] * runs.ticks_per_round
posts = posts.rename(columns={"post": "node"}).merge(runs[["run", "ticks", "horizon", "tick_seconds"]])
first = posts.groupby(["run", "root"]).tick.transform("min")  # the tick of the original
posts["minutes"] = (posts.tick - first) * posts.tick_seconds / 60
old = posts[first < posts.ticks - np.minimum(posts.horizon, posts.ticks // 2)]
ours = np.array([shape(tree) for _, tree in old.groupby(["run", "root"], sort=False)])
theirs = np.array([shape(tree) for _, tree in real.groupby("cascade", sort=False)])

near = [np.abs(np.log(theirs[:, 0] / size)) <= 0.1 for size in ours[:, 0]]
kept = np.array([each.sum() >= 10 for each in near])
weights, ones = (
    sum((each / each.sum() for each in near if each.sum() >= 10), np.zeros(len(theirs))),
    np.ones(kept.sum()),
)
facts = {"cascades": kept.sum(), "count as": weights.sum() ** 2 / (weights**2).sum()}
for column, name in enumerate(("depth", "breadth share", "virality", "minutes to half"), 1):
    a, b = ours[kept, column], theirs[:, column]
    gaps = [abs((a <= x).mean() - weights[b <= x].sum() / weights.sum()) for x in (*a, *b)]
    facts[name] = {"real": median(b, weights), "run": median(a, ones), "distance": max(gaps)}
spearman = []
for table, each in ((theirs, weights), (ours[kept], ones)):
    spread = np.cov(ranks(table[:, 0], each), ranks(table[:, 3], each), aweights=each)
    spearman.append(spread[0, 1] / (spread[0, 0] * spread[1, 1]) ** 0.5)
facts["size and virality"] = {"real": spearman[0], "run": spearman[1]}
facts["posts without reaction"] = (ours[:, 0] == 1).mean()
facts["100+ posts, of 10,000"] = 10_000 * (ours[:, 0] >= 100).mean()
last = rounds.groupby("run").last()
facts["engagement per post seen"] = ((last.likes + last.replies + last.reshares) / last.posts_seen).mean()

days = (runs.ticks * runs.tick_seconds).max() / 86_400
counts, people = np.unique(agents[["posts", "replies", "reshares"]].sum(axis=1), return_counts=True)
rates = np.array([1e-9, *np.geomspace(0.01, max(2, 1.5 * counts[-1]), 80)])
likely, share = poisson.pmf(counts[:, None], rates), np.full(81, 1 / 81)
for _ in range(1000):
    share = (people / (likely @ share)) @ (likely * share) / people.sum()
posting = share * -np.expm1(-rates * 30 / days)  # those who post in a month, the busiest last
top = np.clip(posting.sum() / 10 - posting[::-1].cumsum()[::-1] + posting, 0, posting) / np.maximum(posting, 1e-300)
facts["posts of the top tenth"] = (top * share * rates).sum() / (share * rates).sum()
sys.stdout.write(json.dumps(facts, default=float, indent=2) + "\n")
