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
    apps: { include: ["cgroup:/$name/app", /usr/bin/curl] }
    dns: { servers: [10.77.0.1] }
    on-demand: { rules: [ { action: connect } ] }
END
roamward check "$policies" >/dev/null && say checked
remember
start_agent
tunnel_is corp connected
say "$(way_to 203.0.113.80), $(programs)"
# It appears later, as a service that is started.
mkdir "$groups/$name/app"
within 5 eval '[[ $(programs) == 1 ]]'
whoami_in app
curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami
# The names of such a program go where its packets go, whatever server it asks; those of others do not.
within_group app busybox nslookup intranet.corp.example 198.51.100.1 | grep -c '^Address: 10.77.0.1' || true
busybox nslookup intranet.corp.example 198.51.100.1 | grep -c '^Address: 10.77.0.1' || true
roamward explain --policies "$policies" --app "cgroup:/$name/app" --to 203.0.113.80 | sed "s/$name/G/" || true
"$bin/roamward" run -- /usr/bin/curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami
"$bin/roamward" run -- /usr/bin/env true 2>&1 || say $?
"$bin/roamward" diff --policies "$policies" "${inputs[@]}" --state-dir "$scene/state" >diff.out && say "no drift" || cat diff.out
within_group app bash -c "$(mkdir -m 777 "$scene/spoken"; speak 7777)" &
speaker=$!
bash -c "$(speak 7778)" &
others=$!
both_speak
say "$(outside own) outside, $(($(inside) > 0))"
roamward down corp --until resume --wait 20 >/dev/null
before=$(outside others); both_speak
say "down: $(outside own) outside, others $(($(outside others) > before))"
kill_agent
before=$(outside others); both_speak
say "killed: $(outside own) outside, others $(($(outside others) > before))"
start_agent
roamward resume corp >/dev/null
tunnel_is corp connected
before=$(inside); both_speak
say "back: $(outside own) outside, $(($(inside) > before))"
# A group that no policy names any more is as any other.
sed -i "s|cgroup:/$name/app|other.service|" "$policies/corp.yaml"
within 5 eval '[[ $(programs) == 0 ]]'
whoami_in app
# None of them runs any more.
kill $others; pkill -KILL -f '[s]poken/7777'
stop_agent
as_before
