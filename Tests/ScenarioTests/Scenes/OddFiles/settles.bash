# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

# Waits until the tunnel is connected, and lives through repairs: then nothing may have been repaired, no difference may be left, and a stop
# has to leave the machine as it was.
settles() {
  start_agent
  tunnel_is corp connected 60s
  steps=$(counter steps)
  # Each observation compares: repairs of what was just written would follow at once.
  for _ in 1 2 3; do
    observations=$(counter observations)
    ip link add stir type veth peer name stirred
    ip link del stir
    within 5 eval '(( $(counter observations) > observations ))'
  done
  difference=$(dry diff 2>&1) || say "$1: differs: $difference"
  [[ $(counter repairs) == 0 ]] || say "$1: $(counter repairs) repairs"
  [[ $(counter steps) == "$steps" ]] || say "$1: $(counter steps) steps after $steps"
  [[ $(stop_agent) == 0 ]] || say "$1: the agent failed"
  within 5 as_before || say "$1: something is left"
}

go cafe
remember
cp "$policies/corp.conf" original.conf
wg genkey | wg pubkey >other.key
for ((number = 0; number < COUNT; number++)); do
  # The lines of the interface, the prefixes of the peer and of another one, the file in words.
  mapfile -t odd <"odd-$number"
  sed -E '/^(Address|AllowedIPs|MTU) *=/d' original.conf |
    sed "s|^\\[Interface\\].*|&\\n${odd[0]}|; s|^\\[Peer\\].*|&\\nAllowedIPs = ${odd[1]}|" >"$policies/corp.conf"
  [[ -z ${odd[2]} ]] ||
    printf '[Peer]\nPublicKey = %s\nEndpoint = 203.0.113.10:51999\nAllowedIPs = %s\n' "$(<other.key)" "${odd[2]}" >>"$policies/corp.conf"
  cp "odd-$number.yaml" "$policies/corp.yaml"
  settles "file $number: ${odd[3]}"
done
say "done"
