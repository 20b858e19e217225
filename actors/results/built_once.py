"""The domain of a recorded run, made again when a table first needs it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec

from actors.core.errors import UntrustedCodeError
from actors.factory.domains import look_at_domain
from actors.record.run import Recorded
from prism.agents import Question
from prism.divergence import Reference
from prism.domain import Domain, reference_of
from prism.errors import ConfigError, InputError
from prism.social.people.population import Population


class BuiltOnce:
    """The domain of a run, made again when it is first asked for."""

    def __init__(self, run: Recorded) -> None:
        self._run = run
        self._built: Domain | None = None
        self._is_embedded = run.config.oracle.backend == "choice"
        self._reference: Callable[[Question[Any]], Reference] | None = None

    @property
    def domain(self) -> Domain:
        """The domain."""
        if self._built is None:
            hint = "; --tables without agents, edges, attribute_changes, questions and judgements needs no input files"
            try:
                self._built = look_at_domain(self._run.config).domain
            except InputError as error:
                raise ConfigError(str(self._run.path), f"{error}{hint}") from None
        return self._built

    @property
    def initial(self) -> str | None:
        """The state in which all agents begin; None if it depends on code that may not be run."""
        return None if self.is_untrusted else str(self.domain.chart.initial.value)

    @cached_property
    def is_untrusted(self) -> bool:
        """True if the domain is not built because it is code that this user has not allowed; then a note says so."""
        try:
            _ = self.domain
        except UntrustedCodeError as error:
            self._run.notes.append(
                f"without judgements, and without the state of agents that never moved: {error.reason}"
            )
            return True
        return False

    @property
    def population(self) -> Population | None:
        """The people on a feed; None in another domain."""
        found = None if self.is_untrusted else getattr(self.domain, "population", None)
        return found if isinstance(found, Population) else None

    def probabilities(self, question: Question[Any]) -> str | None:
        """Return the probabilities that the embedded oracle gave the options of a question, as JSON; None if unknown.

        They are unknown where a model was asked, and in ticks that a fork has from its parent, whose settings may
        differ.
        """
        if not self._is_embedded or question.tick < self._run.shared_ticks or self.is_untrusted:
            return None
        if self._reference is None:
            self._reference = reference_of(self.domain)
        seen = question.context
        context = None if seen is None else msgspec.convert(seen, self.domain.context_type)
        typed = Question(question.tick, question.agent, question.trigger, question.state, question.options, context)
        shares = self._reference(typed).probabilities
        if shares is None:
            return None
        return msgspec.json.encode(dict(zip(question.options, shares, strict=True))).decode()
