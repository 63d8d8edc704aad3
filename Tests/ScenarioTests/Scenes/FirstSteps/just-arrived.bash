# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/as-installed.bash
source "$tests/as-installed.bash"

mkdir home
"$lab" config >home/work.conf && chmod 644 home/work.conf
go cafe
mac=$(ip -n cafe -o link show lan0 | sed -E 's|.*link/ether ([^ ]+) .*|\1|')
as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups "$bin/roamward" "$@" </dev/null; }
# Nothing is known of the gateway. The agent asks for it as soon as it is forgotten: its answer may be here before the look.
fresh() {
  local attempt
  for attempt in {1..20}; do
    ip neigh flush all
    [[ $(ip neigh show 198.51.100.1) == *lladdr* ]] || return 0
  done
  say "known already, $attempt times"
}
shown() { grep -v '^  ' | sed "s/$mac/MAC/g; s|$PWD/||g" | grep -oE 'gateway-mac MAC|^roamward: .*|^help: .*'; }
twice() {
  for who in roamward as_user; do
    fresh
    $who trust --dry-run "$@" 2>&1 | shown
    fresh
    $who import home/work.conf --except here --dry-run "$@" 2>&1 | grep -oE '^work here .*|^roamward: .*'
  done
}
twice "${inputs[@]}"
start_agent
twice
# Behind a kill switch no packet of a user leaves.
install -m 600 home/work.conf local/work.conf
cat >local/full.yaml <<'END'
version: 1
tunnels:
  full:
    provider: { wireguard: { config: work.conf } }
    kill-switch: always
    on-demand: { rules: [ { action: disconnect } ] }
END
within 5 eval 'nft list tables | found "inet roamward"'
twice
