# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/proxies.bash
source "$tests/proxies.bash"

go cafe
own_etc
cp "$bin/roamward" "$scene/roamward"
cp "$bin/roamward-proxy" "$scene/roamward-proxy"
# With a byte that is no UTF-8, and both kinds of line ends.
printf 'function FindProxyForURL(url, host) {\r\n  return host == "www.example" ? "PROXY 10.77.0.1:3128" : "DIRECT"; // \351\n}' >"$policies/corp.pac"
proxy_policy '{ pac-file: corp.pac, publish: [pac] }'
start_agent
within 5 serves DIRECT
not cmp --silent <(served) "$policies/corp.pac"
roamward up corp >/dev/null
tunnel_is corp connected
within 5 eval 'cmp --silent <(served) "$policies/corp.pac"'
say "byte for byte"
# shellcheck disable=SC2154
if [[ -n ${library:-} ]]; then
  as_user proxy http://www.example/x
  as_user proxy http://other.example/ | tail -n 1
fi
as_user proxy --show git 2>&1 || say $?

# The same behind a URL inside the tunnel: none until it has come.
roamward down corp >/dev/null
tunnel_is corp disconnected
proxy_policy '{ pac: "http://10.77.0.1/corp.pac", publish: [pac] }'
kill -HUP "$(agent_pid)"
within 5 serves DIRECT
roamward up corp >/dev/null
tunnel_is corp connected
within 5 eval 'roamward status | found "its proxies are not in use: http://10.77.0.1/corp.pac: the server answers with status 404"'
say "none yet: $(served)"
cp "$policies/corp.pac" "$ROAMWARD_LAB/gateway/www/corp.pac"
within 10 eval 'cmp --silent <(served) "$policies/corp.pac"'
say "fetched"
within 5 not eval 'roamward status | found "not in use"'
# Nothing of it leaves the tunnel.
roamward down corp >/dev/null
tunnel_is corp disconnected
within 5 serves DIRECT
say "$(count_in_log 'step-failed') failed steps"
