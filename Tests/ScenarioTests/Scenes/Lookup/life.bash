# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/lookup-words.bash
source "$tests/lookup-words.bash"

go cafe
on gateway nft 'table inet seen { counter ours { }; chain in { type filter hook input priority -300; udp dport 51820 counter name ours; }; }'
cp -a "$file" was
start_agent
within 5 led
within 5 ready corp
go mobile
go cafe
# Until the agent has written the file anew, programs ask the network itself.
within 5 led
within 5 eval '[[ $(answer www.example) == 198.51.100.77 ]]'
within 5 ready corp
say "$(field corp state), $(on gateway nft list counter inet seen ours | grep -o 'packets [0-9]*')"
roamward monitor --json >events &
# A policy that is read again is an event.
listens() { echo "#" >>"$policies"/corp.yaml; sleep 0.1; test -s events; } # no event: the monitor may not listen yet
within 5 listens
say "$(answer www.example) $(answer www.public.corp.example) $(answer box.lab.example) $(field corp state)"
say "$(answer wiki.corp.example)"
tunnel_is corp connected
within 5 grep -q '"event":"lookup"' events
jq -r 'select(.event == "lookup") | "\(.tunnel) \(.name) user \(.user)"' events
roamward status | grep -o 'a look-up of wiki.corp.example by user 0.*' | sed 's/ in [^ ]*$//'
way=$(roamward dns wiki.corp.example --policies "$policies" "${inputs[@]}" --state-dir "$scene"/state --ask)
say "$(grep -oP 'sent by .*(?=, because)' <<<"$way"); $(grep -oP 'answered by .*' <<<"$way" | sed 's/, in [^:]*//')"
say "$(answer git.corp.example)"
go mobile
within 5 led
tunnel_is corp connected
within 5 eval '[[ $(answer wiki.corp.example) == 10.77.0.77 ]]'
within 5 eval '[[ $(answer www.public.corp.example) == 203.0.113.207 ]]'
say "mobile $(answer www.public.corp.example)"
tunnel_is corp disconnected 60s
within 5 ready corp && say "ready again"
index=$(ip -oneline link show corp | cut -d : -f 1)
say "$(answer wiki.corp.example)"
[[ $(ip -oneline link show corp | cut -d : -f 1) == "$index" ]] && say "the same link"
tunnel_is corp connected
say "outside: $(asked_at cafe wiki.corp) $(asked_at mobile wiki.corp) $(asked_at cafe git.corp), exception: $(asked_at gateway public.corp)"
stop_agent >/dev/null
ip link show corp >/dev/null 2>&1 || say "gone"
cmp was "$file" || diff was "$file" || true
