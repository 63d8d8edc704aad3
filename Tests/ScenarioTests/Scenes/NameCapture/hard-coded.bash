# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/capture.bash
source "$tests/capture.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/NameCapture/begin.bash
source "$tests/NameCapture/begin.bash"

cp -a "$laptop"/resolv.conf was
start_agent
tunnel_is corp connected
without=$(ask_all wiki.corp.example)
within 5 something_outside
say "without: $without; outside $(($(outside) > 0))"
roamward doctor --policies "$policies" "${inputs[@]}" --state-dir "$scene"/state --json | jq -r '.findings[] | select(.check == "own-servers") | .message' | cut -d ' ' -f 1-4
write_policy 's/when-down: refuse/when-down: refuse, names: capture/'
within 5 captures
within 5 eval '[[ $(ask $stranger wiki.corp.example) == 10.77.0.77 ]]'
roamward diff --policies "$policies" "${inputs[@]}" --state-dir "$scene"/state >/dev/null && say "no drift"
before=$(outside)
# shellcheck disable=SC2031 # of this shell
say "names of corp: $(ask_all wiki.corp.example) $(ask "${server[cafe]}" wiki.corp.example)"
# shellcheck disable=SC2031 # of this shell
say "others: $(ask_all www.public.example) $(ask "${server[cafe]}" www.public.example) $(ask 127.82.0.53 www.public.example)"
# As systemd-resolved does on the loopback: it asks further by itself.
# shellcheck disable=SC2031 # of this shell
dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --listen-address=127.0.0.53 --server="${server[cafe]}" --pid-file=
within 5 eval '[[ $(ask 127.0.0.53 www.public.example) == 198.51.100.77 ]]'
say "a local resolver: $(ask 127.0.0.53 local.corp.example)"
say "canary: $(ask $stranger use-application-dns.net)"
say "bound: $(ask_all_bound bound.corp.example wlan0); of no tunnel: $(ask_all_bound bound.public.example wlan0)"
say "outside: $(($(outside) - before))"
say "doctor: $(roamward doctor --policies "$policies" "${inputs[@]}" --state-dir "$scene"/state --json | jq -r '[.findings[] | select(.check == "own-servers")] | length')"
roamward down corp --wait 20 >/dev/null
within 5 eval '[[ $(ask $stranger wiki.corp.example) == SERVFAIL ]]'
say "down: $(ask_all wiki.corp.example) $(ask $stranger www.public.example); outside: $(($(outside) - before))"
stop_agent >/dev/null
not captures && cmp was "$laptop"/resolv.conf && within 5 eval '[[ $(ask $stranger wiki.corp.example) == 203.0.113.199 ]]' && say "as before"
