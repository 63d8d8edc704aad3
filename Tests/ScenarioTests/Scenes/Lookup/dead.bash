# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/lookup-words.bash
source "$tests/lookup-words.bash"

go cafe
on gateway nft 'table inet dead { chain in { type filter hook input priority 0; udp dport 51820 drop; }; }'
start_agent
within 5 led
# Waits longer than programs do, and measures from the question to the answer, without its own start.
ask() { PATIENCE=30 "$tests/question" "$(sed -n 's/^nameserver //p' "$file" | head -n 1)" "$1"; }
read -r took said < <(TIMED=yes ask wiki.corp.example)
say "$said $((took > 4000 && took < 5000))"
say "$(ask git.corp.example)"
on gateway nft delete table inet dead
within 40 eval '[[ $(answer wiki.corp.example) == 10.77.0.77 ]]' && say "answered"
say "outside: $(asked_at cafe corp.example)"
