"""Validators: they judge whether an action belongs to the domain."""

from prism.validators.econ_llm_validator import EconLLMValidator
from prism.validators.llm_validator import LLMValidator, Validator

__all__ = ["EconLLMValidator", "LLMValidator", "Validator"]
