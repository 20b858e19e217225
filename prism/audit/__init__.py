"""Audits of studies: the shift of answers that are asked for in other ways, and the verdict on each claim."""
