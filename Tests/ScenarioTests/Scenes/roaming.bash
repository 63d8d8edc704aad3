# Words for scenes that roam with four tunnels: read by bash after scene.bash.
# shellcheck shell=bash disable=SC2154

# The configurations of the two split tunnels, `left` and `right`.
split_tunnels() {
  (
    umask 077
    second_gateway gw1 10.88.0.1/16 51821 10.88.0.2/32 | sed 's|^AllowedIPs.*|AllowedIPs = 10.88.0.0/16|' >"$policies/left.conf"
    second_gateway gw2 10.89.0.1/16 51822 10.89.0.2/32 | sed 's|^AllowedIPs.*|AllowedIPs = 10.89.0.0/16|' >"$policies/right.conf"
  )
}

# Whether the tunnels that are wanted in a place are connected, and the others down.
settled_in() {
  local wanted='["corp", "left", "right", "vpn"]'
  [[ $1 != home ]] || wanted='["left"]'
  roamward status --json | jq -e --argjson wanted "$wanted" '
    [.tunnels[] | select(.state != (if (.name | IN($wanted[])) then "connected" else "disconnected" end)) | {name, state, failure}] == []'
}

# Roams so often between places at random, and on as soon as all is settled; says the milliseconds of each.
roam() {
  local count=$1 place=home began next
  RANDOM=$2
  local -A others=([home]='cafe mobile' [cafe]='home mobile' [mobile]='home cafe')
  for ((; count > 0; count--)); do
    read -ra next <<<"${others[$place]}"
    place=${next[RANDOM % 2]}
    go "$place"
    began=${EPOCHREALTIME/./}
    within 3 settled_in "$place" >&2
    echo "$place $(((${EPOCHREALTIME/./} - began) / 1000))"
    if roamward status --json | jq -e '[.notes[].text | select(contains("by another program"))] != []' >/dev/null; then
      roamward status >&2
      return 1
    fi
  done
}
