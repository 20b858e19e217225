"""A page of metrics, as an active run shows it."""

from __future__ import annotations

PAGE = """
prism_run_info{run_id="default-001",scenario="social",backend="ollama",seed="42"} 1.0
prism_run_active 1.0
prism_population 1000.0
prism_agents{state="idle"} 900.0
prism_agents{state="scrolling"} 100.0
prism_ticks_total 1300.0
prism_ticks_planned 2300.0
prism_round 54.0
prism_agent_transitions_total{from_state="idle",to_state="scrolling"} 4000.0
prism_agent_transitions_total{from_state="scrolling",to_state="idle"} 3000.0
prism_agents_quarantined 1.0
prism_actor_restarts_total{kind="agent",reason="crash"} 3.0
prism_actor_restarts_total{kind="agent",reason="quarantine"} 1.0
prism_oracle_queue_depth 7.0
prism_llm_requests_in_flight 3.0
prism_llm_concurrency_limit 64.0
prism_llm_request_duration_seconds_bucket{le="1.0",model="m",outcome="ok"} 50.0
prism_llm_request_duration_seconds_bucket{le="2.0",model="m",outcome="ok"} 100.0
prism_llm_request_duration_seconds_bucket{le="+Inf",model="m",outcome="ok"} 100.0
prism_llm_request_duration_seconds_bucket{le="+Inf",model="m",outcome="timeout"} 900.0
prism_fallbacks_total{reason="timeout"} 900.0
prism_fallbacks_total{reason="late"} 0.0
prism_llm_tokens_total{model="m",type="prompt"} 12000.0
prism_oracle_breaker_state{state="closed"} 0.0
prism_oracle_breaker_state{state="open"} 1.0
prism_journal_ticks_total 1300.0
prism_journal_bytes_total 2.5e+06
prism_checkpoint_timestamp_seconds 0.0
prism_event_loop_lag_seconds 0.004
prism_event_loop_lag_seconds_max 0.021
process_resident_memory_bytes 1.2e+08
"""
