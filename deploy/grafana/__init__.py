"""Grafana dashboards, built by code: `python -m deploy.build` writes them to deploy/grafana/dashboards."""
