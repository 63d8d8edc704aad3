# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/run.bash
source "$tests/run.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/armed.bash
source "$tests/armed.bash"

another_managers_group

go cafe
take_everything
watch_programs
cat >"$policies/corp.yaml" <<END
version: 1
tunnels:
  corp:
    provider: { wireguard: { config: corp.conf } }
    apps: { include: ["cgroup:/$name/app", /usr/bin/curl] }
    dns: { servers: [10.77.0.1] }
    on-demand: { rules: [ { action: evaluate-connection } ], timing: { idle: 20s } }
END
roamward check "$policies" >/dev/null && say checked
remember
start_agent
tunnel_is corp armed
field corp notes | grep -o 'armed: comes up at the first packet of [^ ]*, /usr/bin/curl' | sed "s/$name/G/"
mkdir "$groups/$name/app"
within 5 eval '[[ $(programs) == 1 ]]'
# Packets of others leave as before, and start nothing.
curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami
say "$(field corp state), sessions $(sessions)"
whoami_in app
tunnel_is corp connected
tunnel_is corp armed
say "idle: $(field corp state)"
# Nothing of the session before is used.
whoami_in app
tunnel_is corp armed
say "by run: $(field corp state)"
"$bin/roamward" run -- /usr/bin/curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami
tunnel_is corp armed
# Its gateway is dead: the programs reach nothing, and others all that they did.
on gateway nft 'table inet dead { chain input { type filter hook input priority 0; udp dport 51820 drop; }; }'
within_group app bash -c "$(mkdir -m 777 "$scene/spoken"; speak 7777)" &
speaker=$!
bash -c "$(speak 7778)" &
others=$!
both_speak
within 30 eval '[[ $(field corp failure) == *"did not answer within"* ]]'
before=$(outside others); both_speak
say "dead: $(field corp decision), $(outside own) outside, others $(($(outside others) > before))"
kill $speaker $others
pkill -KILL -f '[s]poken/777' || true
stop_agent
as_before
