"""Questions put to people of a run: the questionnaire, the people who are asked, and what their answers say."""
