# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

walk() {
  start_agent "$@"
  go cafe
  tunnel_is corp connected
  go home
  tunnel_is corp disconnected
  stop_agent >/dev/null
}
key=$(sed -n 's/^PrivateKey = //p' "$policies"/corp.conf)
go home
walk --log-level info
mv agent.log info.log
walk --log-level trace
grep -cE 'Cafe|198\.51\.|203\.0\.|10\.77\.|example' info.log || true
grep -c 'tunnel=corp' info.log | grep -qv '^0$' && say "but tunnels"
grep -q 'Cafe' agent.log && say "and all of it when asked"
grep -cF "$key" info.log agent.log || true
