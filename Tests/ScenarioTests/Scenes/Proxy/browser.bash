# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/proxies.bash
source "$tests/proxies.bash"

go cafe
own_etc
start_proxy
proxy_policy '{ http: "10.77.0.1:3128", publish: [chromium] }'
start_agent
within 5 serves DIRECT
page() {
  timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$scene/profile-$1" --dump-dom \
    http://www.example/ 2>/dev/null | grep -o 'by the proxy' || true
}
say "down: $(page 1 | grep -c 'by the proxy' || true)"
roamward up corp >/dev/null
tunnel_is corp connected
within 5 serves 'PROXY 10.77.0.1:3128'
say "up: $(page 2)"
roamward down corp >/dev/null
tunnel_is corp disconnected
within 5 serves DIRECT
say "down: $(page 3 | grep -c 'by the proxy' || true)"
