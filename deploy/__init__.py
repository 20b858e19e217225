"""How a run is operated: Prometheus rules, Grafana dashboards, containers, units. None of it is part of the product."""
