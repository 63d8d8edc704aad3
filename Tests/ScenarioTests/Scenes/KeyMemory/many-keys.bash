# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/KeyMemory/words.bash
source "$tests/KeyMemory/words.bash"

# 43 digits of base64, the last of which holds four bits.
tr -dc 'A-Za-z0-9' </dev/urandom | head -c 84000 | fold -w 42 | sed 's/$/A=/' >keys || true
mapfile -t keys <keys
for ((i = 0; i < 1000; i++)); do
  printf '[Peer]\nPublicKey = %s\nPresharedKey = %s\n' "${keys[i]}" "${keys[i + 1000]}"
done >>"$policies"/corp.conf
go home
start_agent
within 5 field_is corp decision disconnect
within 5 eval '(( $(grep VmLck /proc/$(agent_pid)/status | tr -dc 0-9) <= 64 ))'
count 1 'among a thousand'
