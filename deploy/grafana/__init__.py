"""Grafana dashboards, built by code: `python -m deploy.grafana.build` writes them to deploy/grafana/dashboards."""
