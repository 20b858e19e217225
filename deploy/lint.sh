#!/usr/bin/env bash
# Checks everything under deploy/ with the tools for such files. A tool that is not installed is skipped with a message;
# the others must report nothing. Starts no container and no service.
#
#   deploy/lint.sh [where python3, yamllint and kubernetes-validate are]
set -uo pipefail
bin=${1:+$(realpath "$1")}
cd "$(dirname "$0")/.." || exit
PATH="${bin:+$bin:}$PATH"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

# check NAME COMMAND...: runs the command and shows its output if it fails.
check() {
    local name=$1
    shift
    if "$@" >"$scratch/out" 2>&1; then
        echo "ok       $name"
    else
        echo "FAILED   $name"
        sed 's/^/         /' "$scratch/out"
        failed=1
    fi
}

# silent COMMAND...: fails if the command prints anything, whatever its exit code.
silent() {
    "$@" >"$scratch/said" 2>&1 && ! [ -s "$scratch/said" ] && return
    cat "$scratch/said"
    return 1
}

skip() { echo "skipped  $1: $2"; }

has() { command -v "$1" >/dev/null 2>&1; }

compose() {
    GRAFANA_PASSWORD=checked docker compose --file deploy/compose.yaml config --quiet
}

if has yamllint; then check "yamllint" yamllint --strict --config-file deploy/yamllint.yml deploy configs
else skip "yamllint" "not installed (in the dev requirements)"; fi

if has promtool; then
    check "promtool: configuration" promtool check config deploy/prometheus/prometheus.yml
    check "promtool: remote write" promtool check config deploy/prometheus/prometheus-remote-write.yml
    check "promtool: rules" promtool check rules deploy/prometheus/rules/*.yml
    check "promtool: tests of alerts" promtool test rules deploy/prometheus/tests/*.yml
else skip "promtool" "not installed (Debian: apt-get install prometheus)"; fi

if ! has kubectl; then skip "kubernetes" "kubectl is not installed"
elif ! has kubernetes-validate; then skip "kubernetes" "kubernetes-validate is not installed (in the dev requirements)"
else check "kustomize, schemas of Kubernetes" silent python3 -m deploy.manifests deploy/kubernetes; fi

if has vector; then check "vector validate" vector validate --no-environment deploy/logs/vector.yaml
else skip "vector validate" "not installed"; fi

if has systemd-analyze; then check "systemd-analyze verify" silent systemd-analyze verify deploy/systemd/prism@.service
else skip "systemd-analyze" "not installed"; fi

if has hadolint; then check "hadolint" silent hadolint deploy/Dockerfile
else skip "hadolint" "not installed"; fi

if has docker && docker compose version >/dev/null 2>&1; then check "docker compose config" silent compose
else skip "docker compose config" "docker's compose plugin is not installed"; fi

scripts=(deploy/run-or-resume deploy/run-healthy deploy/pin-images)
check "scripts: syntax" sh -c 'bash -n deploy/lint.sh && for script; do sh -n "$script" || exit; done' sh "${scripts[@]}"
if has shellcheck; then check "shellcheck" shellcheck --severity=warning deploy/lint.sh "${scripts[@]}"
else skip "shellcheck" "not installed"; fi
exit "$failed"
