"""What people remember is what took place for them: recomputed here from the run's events and views, one by one."""

import json
import re
from collections import defaultdict
from typing import Any

import msgspec

from prism.agents import Question
from prism.config import Config, LLMConfig
from prism.config.interventions import InterventionConfig, PublishConfig
from prism.events import TieChanged, events_in
from prism.social.memory import NAME_CHARS, TEXT_CHARS
from prism.social.posts.post import PersonalView, PostView, author_of
from prism.wording import ago
from tests.hostile_texts import CORPUS
from tests.social.driver import SMALL, Run, with_deliberation

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def remembering(lines: int, config: Config = SMALL) -> Config:
    """Return a configuration in which prompts have so many lines of memory."""
    return msgspec.structs.replace(config, llm=LLMConfig(memory=lines))


def memory_of(question: Question[PostView]) -> tuple[str, ...]:
    assert isinstance(question.context, PersonalView)
    return question.context.memory


def others_of(lines: tuple[str, ...]) -> list[str]:
    """Return the lines about what others did."""
    return [line for line in lines if re.match(r'(just now|[\d,]+ \w+ ago) "', line)]


def own_of(lines: tuple[str, ...]) -> list[str]:
    """Return the lines about what the person saw and did."""
    return [line for line in lines if line not in others_of(lines)]


VERBS = {"like": "liked", "reply": "replied to", "reshare": "reshared", "publish": "posted"}


def expected(run: Run, events: list[tuple[int, Any]], question: Question[PostView]) -> tuple[list[str], list[str]]:
    """Return the beginnings of the lines about what others did and what the person did, the latest first."""
    of_others, own, name, person = list[str](), list[str](), run.domain.population.name, question.agent
    for tick, event in events:
        if tick < question.tick:
            when, verb = ago((question.tick - tick) * 60.0), VERBS[event.kind]
            author = author_of(event.post if event.parent is None else event.parent)
            if author == person != event.agent:
                of_others.append(f'{when} "{name(event.agent)}" {verb} your post')
            if event.agent == person:
                by = "" if event.kind == "publish" else f' a post by "{name(author)}"'
                own.append(f"{when} you {verb}{by}")
    return of_others[::-1], own[::-1]


async def test_a_question_has_everything_that_took_place_before_it_and_nothing_of_its_own_tick() -> None:
    run, events, checked = Run(with_deliberation(4, remembering(100))), list[tuple[int, Any]](), 0
    for tick in range(60):
        await run.advance(1)
        events += [(tick, event) for event in events_in(tick, run.world.take_rows())]
    for question in run.questions:
        of_others, own = expected(run, events, question)
        lines = memory_of(question)
        shown = others_of(lines)
        done = [line for line in own_of(lines) if " you saw " not in line]
        if len(lines) < 100:  # nothing was left out
            assert len(shown) == len(of_others)
            assert len(done) == len(own)
            checked += bool(own and of_others)
        assert all(line.startswith(start) for line, start in zip(shown, of_others, strict=False))
        assert all(line.startswith(start) for line, start in zip(done, own, strict=False))
    assert checked > 10


async def test_posts_that_people_left_without_doing_anything_are_remembered_once_each() -> None:
    run = await Run(remembering(100)).advance(80)
    seen = defaultdict[int, list[PostView]](list)
    asked = {(question.tick, question.agent): question for question in run.questions}
    checked = 0
    for tick, triggers in enumerate(run.triggers):
        for trigger in triggers:
            question = asked.get((tick, trigger.agent))
            if question is not None and (view := question.context) is not None:
                saw = [line for line in memory_of(question) if " you saw " in line]
                acted = [line for line in own_of(memory_of(question)) if " you saw " not in line]
                before = [each for each in seen[trigger.agent] if each.id != view.id]
                about = [f'a post by "{each.author_name}" about' for each in before]
                assert all(any(each in line for each in about) for line in saw)
                assert len(saw) <= len(before) <= len(saw) + len(acted)
                checked += len(saw)
            if trigger.name == "sees_post" and trigger.context is not None:
                seen[trigger.agent].append(trigger.context)
    assert checked > 50


async def test_what_others_did_takes_half_of_the_places_and_each_side_takes_what_the_other_leaves() -> None:
    many = await Run(remembering(100)).advance(45)
    for places in (1, 4):
        few = await Run(remembering(places)).advance(45)
        shares = set()
        for short, long in zip(few.questions, many.questions, strict=True):
            lines, of_others, own = memory_of(short), others_of(memory_of(long)), own_of(memory_of(long))
            count = len(others_of(lines))
            assert lines == (*of_others[:count], *own[: places - count])
            assert len(lines) == min(places, len(of_others) + len(own))
            if len(of_others) >= places <= len(own):
                assert count == (places + 1) // 2
            shares.add(count)
        assert len(shares) > 1


def test_people_remember_who_follows_them_and_whom_they_follow() -> None:
    world = Run(remembering(100)).world
    name, memory = world.population.name, world.memory
    assert memory is not None
    memory.add_events(3, [TieChanged(3, 5, kind, 7, 0) for kind in ("follow", "unfollow", "mute")])
    assert memory.lines(7, 3) == (f'just now "{name(5)}" followed you',)
    assert memory.lines(5, 3) == (
        f'just now you muted "{name(7)}"',
        f'just now you stopped following "{name(7)}"',
        f'just now you followed "{name(7)}"',
    )


async def test_a_hostile_text_is_one_cut_string_in_quotes_on_one_line() -> None:
    texts = [*CORPUS, "x" * 9000]
    run = Run(remembering(100))
    for number, text in enumerate(texts):
        published = PublishConfig(author=number, text=text, topics=(text,))
        run.world.intervene(0, InterventionConfig(tick=0, publish=published))
    await run.advance(60)
    lines = {line for person in range(60) for line in run.world.memory.lines(person, 60)}  # type: ignore[union-attr]
    hostile = [line for line in lines if any(json.dumps(text[:20])[1:-1] in line for text in texts)]
    assert len(hostile) > len(texts)
    for line in hostile:
        assert len(line.splitlines()) == 1
        outside = _QUOTED.sub("", line)
        assert '"' not in outside
        assert not any(word in outside for word in ("answer", "banned", "xxx", "system"))
        assert all(len(json.loads(each)) <= max(TEXT_CHARS, NAME_CHARS) for each in _QUOTED.findall(line))
