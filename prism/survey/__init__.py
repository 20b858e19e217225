"""Questions put to people of a run: the questionnaire, the people who are asked, and what their answers say."""

from prism.survey.embedded import EmbeddedAnswers
from prism.survey.oracle import Interview, Respondent, SurveyOracle
from prism.survey.outcome import Given, ItemOutcome, outcomes_of
from prism.survey.questionnaire import Item, Questionnaire, read_questionnaire

__all__ = [
    "EmbeddedAnswers",
    "Given",
    "Interview",
    "Item",
    "ItemOutcome",
    "Questionnaire",
    "Respondent",
    "SurveyOracle",
    "outcomes_of",
    "read_questionnaire",
]
