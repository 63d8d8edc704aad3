# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/run.bash
source "$tests/run.bash"

another_managers_group

go cafe
take_everything
watch_programs
cat >"$policies/corp.yaml" <<END
version: 1
tunnels:
  corp:
    provider: { wireguard: { config: corp.conf } }
    apps: { include: ["cgroup:/$name/app"] }
    on-demand: { rules: [ { action: connect } ] }
  other:
    provider: { wireguard: { config: corp.conf } }
    apps: { exclude: ["cgroup:/$name"] }
    on-demand: { rules: [ { action: disconnect } ] }
END
start_agent
tunnel_is corp connected
within 5 eval '[[ $(programs) == 1 ]]'
files() { find "/proc/$(agent_pid)/fd" -mindepth 1 | wc -l; }
before=''
# A service that is started again and again has a new group each time.
for _ in {1..20}; do
  mkdir "$groups/$name/app"
  within 5 eval '[[ $(programs) == 2 ]]'
  within 5 rmdir "$groups/$name/app"
  within 5 eval '[[ $(programs) == 1 ]]'
  before=${before:-$(files)}
done
say "$(($(files) <= before + 2))"
mkdir "$groups/$name/app"
within 5 eval '[[ $(programs) == 2 ]]'
whoami_in app
whoami_in ''
# An agent after a crash marks both again.
kill_agent
start_agent
tunnel_is corp connected
within 5 eval '[[ $(programs) == 2 ]]'
whoami_in app
whoami_in ''
stop_agent
