# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

own=(--state-dir "$scene/state")
mkdir new
cp "$policies/corp.conf" new/
sed 's/action: connect/action: disconnect/' "$policies/corp.yaml" >new/corp.yaml
go home
start_agent
go cafe
tunnel_is corp connected
sleep 1.2 # no event: the record is asked for by the second
kill_agent
printf '01234567 {"cut' >>"$(ls "$scene"/state/history/*.log)"
start_agent
tunnel_is corp connected
roamward down corp --reason "the printer" >/dev/null
tunnel_is corp disconnected
stop_agent
roamward history "${own[@]}" >history 2>defects
roamward history "${own[@]}" --json | jq -r .event | sort -u | paste -sd ' ' >kinds
roamward history "${own[@]}" --replay --policies "$policies" >replay && say replayed
roamward why corp --at now "${own[@]}" --policies "$policies" 2>late || say "status $?"
roamward why corp --at "1s ago" "${own[@]}" --policies "$policies" >/dev/null 2>&1 || true
# The record's first second, as it is shown.
first=$(sed -n 's/.*the record is from \([0-9: -]*\) to .*/\1/p' late)
roamward why corp --at "$first" "${own[@]}" --policies "$policies" >first && say "first $(wc -l <first)"
grep -c 'missing in the record' first || true
# Rules that ask for a fact which no policy of that time asked for.
mkdir later && cp "$policies/corp.conf" later/
sed 's/ssid: Cafe/ssid: Cafe, gateway-mac: 02:00:5e:10:00:02/' "$policies/corp.yaml" >later/corp.yaml
roamward why corp --at "$first" "${own[@]}" --policies later 2>/dev/null | grep 'missing in the record' || true
roamward simulate --history 1h --policies new --against "$policies" "${own[@]}" >differences
# Beside the policies in force, which here are the machine's own, if it has any.
roamward simulate --history 14d --policies new "${own[@]}" >beside 2>&1 && say simulated
roamward history "${own[@]}" --policies "$policies" --html page.html
roamward history "${own[@]}" --policies local --html bare.html 2>bare
stat -c '%a' page.html "$scene/state/history" "$scene"/state/history/*
