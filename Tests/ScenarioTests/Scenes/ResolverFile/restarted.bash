# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/resolver-file.bash
source "$tests/resolver-file.bash"

eval "$MOUNT"
remember_file
start_agent; tunnel_is corp connected; within 5 ours && say ours
kill_agent
# What does not outlive a start of the machine: all of the kernel's, and of /run all but the lab itself.
[[ -z $(engine_pid corp) ]] || kill -KILL "$(engine_pid corp)"
ip link del corp 2>/dev/null || true
ip rule flush protocol 82; ip route flush table 21000; nft flush ruleset
rm -rf /run/wireguard "$ROAMWARD_SOCKET"
ours && say 'still ours'
rm "$policies"/corp.yaml
# A bind mount cannot be replaced as the lab's DHCP client does.
eval "$START"
if [[ -n $AT_HOME ]]; then go home; remember_file; fi
within 10 file_as_before && say theirs
ls -I policies -I history "$scene"/state
