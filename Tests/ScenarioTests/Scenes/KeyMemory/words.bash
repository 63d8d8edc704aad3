# `count N LABEL [PID]`: within a while the agent, or another process, has so many copies of each key, all of
# them locked, and no text of any.
# shellcheck shell=bash disable=SC2154,SC2034

(umask 077; wg genpsk >psk)
sed -i "/^\[Peer\]/a PresharedKey = $(<psk)" "$policies"/corp.conf
on gateway wg set gw0 peer "$(wg pubkey <"$laptop"/key)" preshared-key psk
# What is being read at this moment is there twice; a few moments later it is not.
count() {
  local key attempt copies numbers="$1 locked, 0 unlocked"
  [[ -z ${unlocked:-} ]] || numbers="0 locked, $1 unlocked"
  for key in $laptop/key psk; do
    for attempt in {1..10}; do
      copies=$(perl "$tests/find-key" "${3:-$(agent_pid)}" <"$key" 2>copies.log)
      [[ $copies == "raw $numbers; base64 0; hexadecimal 0" ]] && break
      ((attempt < 10)) || { say "$2: $key: $copies"; cat copies.log; return 1; }
      sleep 0.2
    done
  done
  say "$2: $1"
}
