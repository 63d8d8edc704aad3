# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/run.bash
source "$tests/run.bash"

another_managers_group
mkdir "$groups/$name/out"

go cafe
take_everything
watch_programs
sed -i "s|^    routes:|    apps: { exclude: [\"cgroup:/$name/out\"] }\n&|" "$policies/corp.yaml"
within_group out sleep 600 &
within 2 grep -q . "$groups/$name/out/cgroup.procs"
remember
start_agent
tunnel_is corp connected
within 5 eval '[[ $(programs) == 1 ]]'
within_group out curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami
curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami
roamward status | grep -c 'run already: sockets that they have open keep their route'
roamward explain --policies "$policies" --app "cgroup:/$name/out" --to 203.0.113.80 | sed "s/$name/G/"
engine=$(engine_pid corp)
if [[ -n $engine ]]; then kill -KILL "$engine"; else ip link delete corp; fi
within_group out curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami
pkill -KILL -x sleep
stop_agent
as_before
