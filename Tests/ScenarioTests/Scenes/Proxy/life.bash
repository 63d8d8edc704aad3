# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/proxies.bash
source "$tests/proxies.bash"

go cafe
own_etc
start_proxy
cp "$bin/roamward" "$scene/roamward"
cp "$bin/roamward-proxy" "$scene/roamward-proxy"
server='"10.77.0.1:3128"'
proxy_policy "{ http: $server, https: $server, exclude: [10.77.0.0/16, intranet.corp.example], publish: [environment, chromium, firefox] }"
roamward check "$policies" >/dev/null
start_agent
within 5 serves DIRECT
say "published to $(published)"
jq -c .ProxySettings /etc/chromium/policies/managed/roamward-proxies.json
say "$(as_user proxy http://www.example/ | tail -n 1)"
as_user proxy --show apt 2>&1 || say $?

roamward up corp >/dev/null
tunnel_is corp connected
within 5 serves 'PROXY 10.77.0.1:3128'
as_user proxy http://www.example/
as_user proxy https://intranet.corp.example/ | tail -n 1
as_user proxy http://10.77.3.4/ | tail -n 1
as_user proxy --show apt
# A shell's programs by the environment: one URL by the proxy, one without.
eval "$(as_user proxy --show environment)"
say "curl: $(fetch http://www.example/)"
say "curl: $(fetch http://10.77.0.1/)"
say "the proxy has seen: $(cat "$scene/requests")"
unset http_proxy https_proxy HTTPS_PROXY no_proxy NO_PROXY

# Others than programs that look the script up get nothing.
say "$(curl --silent --output /dev/null --write-out '%{http_code}' --data x "$pac") $(curl --silent --output /dev/null \
  --write-out '%{http_code}' --header 'Host: rebound.example' "$pac") $(curl --silent --output /dev/null --write-out '%{http_code}' \
  "${pac%/*}/")"
headers=$(curl --silent --dump-header - --output /dev/null "$pac" | tr -d '\r')
say "$(grep -i cache-control <<<"$headers")"

# The process dies: another one serves the same.
kill -KILL "$(helper)"
within 5 serves 'PROXY 10.77.0.1:3128'

roamward down corp >/dev/null
tunnel_is corp disconnected
within 5 serves DIRECT
say "variables: $(as_user proxy --show environment | grep -c ^export || true)"

# A killed agent: nothing serves, so programs connect directly; the files are gone with the clean-up.
roamward up corp >/dev/null
tunnel_is corp connected
within 5 serves 'PROXY 10.77.0.1:3128'
kill_agent
within 5 not served
within 5 not helper
"$bin/roamward" cleanup --dry-run --state-dir "$scene/state" 2>&1 | grep -c roamward-proxy
cleanup_agent
etc_as_before

# So they are with a usual end, and with a policy that publishes no more.
start_agent
within 5 serves DIRECT
stop_agent
etc_as_before
start_agent
within 5 serves DIRECT
proxy_policy "{ http: $server }"
kill -HUP "$(agent_pid)"
within 5 not served
etc_as_before
as_user proxy http://www.example/ || say $?
ls "$scene/state" | grep proxy || say "no note"
