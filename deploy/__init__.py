"""The files that operate a run: Prometheus rules, Grafana dashboards, containers, units.

They are not part of the product.
"""
