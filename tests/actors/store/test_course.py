"""The course of a run: what is counted, what is left out at a caller's wish, and what a run is known by beside it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from actors.store.course import Step, read_course
from actors.store.run import Recorded
from prism.agents import DECIDED, MOVED, Update
from prism.events import FeedShown, PostEvent
from tests.recorded import ticks_of


def test_what_is_counted_in_columns_is_what_messages_say_one_by_one(changed_run: Path, few_run: Path) -> None:
    for run in (changed_run, few_run):
        course, ticks = read_course(run), [*ticks_of(run)]
        updates = [each for messages in ticks for each in messages if isinstance(each, Update) and each.source in MOVED]
        steps = (Step(each.from_state, each.trigger, each.to_state, each.source in DECIDED) for each in updates)
        assert course.steps == Counter(steps)
        states, entered = [updates[0].from_state] * course.header.agents, [0] * course.header.agents
        stays, spent = dict[str, list[int]](), Counter[str]()
        for each in updates:
            assert states[each.agent] == each.from_state
            stays.setdefault(each.from_state, []).append(each.tick - entered[each.agent])
            states[each.agent], entered[each.agent] = each.to_state, each.tick
        for state, since in zip(states, entered, strict=True):
            spent[state] += len(ticks) - since
        assert {state: n for state, n in course.inside.items() if n} == Counter(states)
        assert course.activity.dwell_ticks == {state: sum(each) / len(each) for state, each in stays.items()}
        for state, share in course.activity.shares.items():
            assert round(share * course.header.agents * len(ticks)) == spent[state] + sum(stays.get(state, ()))
        # Posts, likes and the people whom a cascade has reached.
        events = [each for messages in ticks for each in messages if isinstance(each, PostEvent)]
        made = [each for each in events if each.kind != "like"]
        posts = course.posts.at(slice(None))
        assert [(each.post, each.tick, each.author, each.kind, each.parent) for each in posts] == [
            (each.post, each.tick, each.agent, each.kind, each.parent) for each in made
        ]
        assert course.likes == Counter(each.post for each in events if each.kind == "like")
        assert course.activity_ticks.tolist() == [each.tick for each in events]
        roots, reached = dict[int, int](), dict[int, set[int]]()
        for event in made:
            roots[event.post] = event.post if event.parent is None else roots[event.parent]
        assert [roots[each.post] for each in made] == course.posts.ids[course.posts.roots].tolist()
        feeds = [each for messages in ticks for each in messages if isinstance(each, FeedShown)]
        pairs = [(post, feed.agent) for feed in feeds for post in feed.posts] or [
            (each.post, each.agent) for each in events
        ]
        for post, agent in pairs:
            reached.setdefault(roots[post], set()).add(agent)
        for one, number in zip(posts, course.reached.tolist(), strict=True):
            assert number == len(reached.get(one.post, set()) - {one.author})
        for original, size in course.posts.largest(3):
            tree = course.posts.tree(original.post)
            assert [each.post for each in tree] == [post for post, root in roots.items() if root == original.post]
            assert len(tree) == size > 1


def test_points_in_time_are_means_that_sum_to_all_agents(embedded: Path) -> None:
    course = read_course(embedded, each_ticks=5)
    assert len(course.people) == -(-course.ticks // 5)
    assert {round(sum(point.values()), 9) for point in course.people[1:]} == {course.header.agents}
    assert read_course(embedded).people == []


def test_rounds_end_among_the_ticks_that_are_asked_for(embedded: Path) -> None:
    read = Recorded(embedded)
    each = read.config.simulation.ticks_per_round
    assert read.rounds["tick"][-1] == read.summary_fields["ticks"]
    assert read.rounds_until(2 * each - 1)["round"] == [1]
    assert {*map(len, read.rounds_until(each - 1).values())} == {0}
